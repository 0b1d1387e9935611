// Package login is fsub login and fsub logout: they keep a user's token, with the servers that it is for, in a file that only the user can read
// ([conn.LoginFile]). Whoever creates the token is fed token create on the daemon's machine.
package login

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch/getopt"
)

// About describes fsub login.
func About() option.About {
	return option.About{Name: "fsub login", Does: "keep a token for the commands on this machine",
		Usage: []string{"fsub login [--server HOST[:PORT][#FINGERPRINT][,HOST...]] [--ca FILE]",
			"fsub login --oidc [--name NAME] [--scope read|submit|operate] [--server LIST] [--ca FILE]"},
		Text: `Keeps a token, which is read from standard input, for the commands on this machine. fed token create, on the daemon's machine, prints the token and the
server. With --json it prints what fsub login takes as it is: fed token create laptop --json | ssh laptop fsub login

With --oidc nothing is read: you confirm a code at the page of the daemon's OpenID provider, in a browser of any machine, and the daemon makes a token
for this machine. fsub logout revokes it.`,
		Groups: []getopt.Group{{Title: "Options of login", Options: []getopt.Described{
			{Option: getopt.Option{Name: "ca", Arg: getopt.RequiredArg}, Value: "FILE",
				Help: "PEM file of the authorities that sign the certificates (default: ca_file of client.yaml, else this machine's)"},
			{Option: getopt.Option{Name: "help", Short: 'h'}, Help: "show this help"},
			{Option: getopt.Option{Name: "name", Arg: getopt.RequiredArg}, Value: "NAME",
				Help: "name of the token; one of yours with the same name is revoked (default: login-HOST)"},
			{Option: getopt.Option{Name: "oidc"}, Help: "sign in at the daemon's OpenID provider"},
			{Option: getopt.Option{Name: "scope", Arg: getopt.RequiredArg}, Value: "read|submit|operate",
				Help: "what the token is for (default: as much as the daemon's configuration allows)"},
			{Option: getopt.Option{Name: "server", Arg: getopt.RequiredArg}, Value: "LIST", Env: "FSUB_SERVER",
				Help: "the daemons, with commas; the first that answers is used (default: from standard input, else client.yaml)"},
		}}}}
}

// Main runs fsub login; it returns the exit code.
func Main(args, env []string, stdin *os.File, stdout, stderr io.Writer) int {
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		about := About()
		io.WriteString(stdout, about.Help())
		return 0
	}
	who, at, err := login(args, env, stdin, stderr)
	if err != nil {
		return fail(stderr, "login", err)
	}
	io.WriteString(stdout, "Signed in as "+who.User+" at "+strings.Join(at.Servers, ", ")+": "+scope(who)+"\n")
	return 0
}

func scope(who *v1.Caller) string {
	text := "scope " + who.Scope
	if who.Scope == "" {
		text = "a token of a job"
	}
	if !who.Expires.IsZero() {
		text += ", until " + who.Expires.Local().Format("2006-01-02 15:04")
	}
	return text
}

// Logout runs fsub logout.
func Logout(args, env []string, stdout, stderr io.Writer) int {
	path := conn.LoginFile(env)
	if len(args) > 0 {
		return fail(stderr, "logout", errors.New("it takes no arguments"))
	}
	at, err := conn.ReadLogin(env)
	said := "to revoke the token itself, on the daemon's machine: fed token revoke NAME"
	if err == nil && at.Own != "" {
		said = revoke(at)
	}
	err = os.Remove(path)
	switch {
	case errors.Is(err, os.ErrNotExist), path == "":
		return fail(stderr, "logout", errors.New("nobody is signed in: there is no file "+path))
	case err != nil:
		return fail(stderr, "logout", err)
	}
	io.WriteString(stdout, "Removed "+path+"; "+said+"\n")
	return 0
}

// revoke revokes the token that was made for this machine, and returns a sentence about the outcome.
func revoke(at conn.Client) string {
	c := conn.At(at)
	defer c.Close()
	status, reply, err := c.Do("DELETE", v1.Tokens.One(at.Own), nil)
	switch {
	case err != nil:
		return "the token " + at.Own + " is not revoked: " + detail(err).Error()
	case status >= 400:
		return "the token " + at.Own + " is not revoked: " + show.Refusal(reply).Error()
	}
	return "the token " + at.Own + " is revoked"
}

// detail is what happened to a call that got no answer.
func detail(err error) error {
	if e := (*conn.Error)(nil); errors.As(err, &e) {
		return errors.New(e.Detail)
	}
	return err
}

func fail(stderr io.Writer, verb string, err error) int {
	io.WriteString(stderr, "fsub "+verb+": error: "+err.Error()+"\n")
	return 1
}

// request is what fsub login is asked for.
type request struct {
	at          conn.Client
	oidc        bool
	name, scope string // of the token, with oidc
}

func login(args, env []string, stdin *os.File, stderr io.Writer) (*v1.Caller, conn.Client, error) {
	in, err := options(args, env)
	if err != nil {
		return nil, in.at, err
	}
	path := conn.LoginFile(env)
	if path == "" {
		return nil, in.at, errors.New("there is no home directory to keep a token in: set HOME or XDG_CONFIG_HOME")
	}
	var token v1.Token
	if !in.oidc {
		if token, err = readToken(stdin, stderr); err != nil {
			return nil, in.at, err
		}
	}
	if in.at.Token = token.Token; len(in.at.Servers) == 0 {
		in.at.Servers = conn.Servers(token.Server)
	}
	if err := in.fill(env); err != nil {
		return nil, in.at, err
	}
	if in.oidc {
		if err := in.confirm(stderr); err != nil {
			return nil, in.at, err
		}
	}
	who, err := ask(in.at)
	if err != nil {
		return nil, in.at, err
	}
	return who, in.at, in.at.Save(path)
}

// fill takes from the machine's file what is not named otherwise.
func (in *request) fill(env []string) error {
	at := &in.at
	machine, err := conn.ReadClientFile(env)
	if err != nil {
		return err
	}
	if len(at.Servers) == 0 {
		at.Servers = machine.Servers
	}
	if at.CAFile == "" {
		at.CAFile = machine.CAFile
	}
	switch {
	case len(at.Servers) == 0 && in.oidc:
		return errors.New("no server is known: name one with --server HOST")
	case len(at.Servers) == 0:
		return errors.New("no server is known: name one with --server HOST, as fed token create prints it")
	case strings.ContainsAny(strings.Join(at.Servers, "")+at.CAFile, "\n\"'[]"):
		return errors.New("invalid --server or --ca: it has quotes, brackets or line breaks")
	}
	return nil
}

func options(args, env []string) (in request, err error) {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "FSUB_SERVER="); ok && v != "" {
			in.at.Servers = conn.Servers(v)
		}
	}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		if name == "--oidc" && !joined {
			in.oidc = true
			continue
		}
		set := in.setter(name)
		if set == nil {
			return in, errors.New("invalid argument \"" + args[i] + "\"; see: fsub login --help")
		}
		if !joined {
			if i++; i == len(args) {
				return in, errors.New(name + " wants a value; see: fsub login --help")
			}
			value = args[i]
		}
		if err := set(value); err != nil {
			return in, err
		}
	}
	if !in.oidc && in.name+in.scope != "" {
		return in, errors.New("--name and --scope go with --oidc: a token that you give has both already")
	}
	return in, nil
}

// setter takes the value of an option; nil: there is no such option.
func (in *request) setter(name string) func(value string) error {
	text := func(to *string) func(string) error {
		return func(value string) error { *to = value; return nil }
	}
	switch name {
	case "--server":
		return func(value string) error { in.at.Servers = conn.Servers(value); return nil }
	case "--ca":
		return func(value string) (err error) {
			in.at.CAFile, err = absolute(value)
			return err
		}
	case "--name":
		return text(&in.name)
	case "--scope":
		return text(&in.scope)
	}
	return nil
}

func absolute(path string) (string, error) {
	if path == "" || path[0] == '/' {
		return path, nil
	}
	dir, err := os.Getwd()
	return dir + "/" + path, err
}

// mostToken is how long a token may be.
const mostToken = 8 << 10

// readToken reads a token, without showing it on a terminal: one line, or what fed token create --json prints.
func readToken(stdin *os.File, stderr io.Writer) (t v1.Token, err error) {
	defer hide(stdin, stderr)()
	var text []byte
	piece := make([]byte, 4096)
	for len(text) <= mostToken {
		n, err := stdin.Read(piece)
		text = append(text, piece[:n]...)
		if err != nil || n == 0 || text[0] != '{' && piece[n-1] == '\n' { // a terminal does not end
			break
		}
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '{' {
		t.Token = strings.TrimPrefix(string(text), "SLURM_JWT=")
	} else if err := json.Unmarshal(text, &t); err != nil {
		return t, errors.New("standard input is not what fed token create --json prints: " + err.Error())
	}
	switch {
	case t.Token == "":
		return t, errors.New("no token: give it on standard input; fed token create NAME prints one on the daemon's machine")
	case len(text) > mostToken || strings.ContainsFunc(t.Token, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\'' }):
		return t, errors.New("invalid token: want one word, as fed token create prints it")
	}
	return t, nil
}

// hide asks for a token where standard input is a terminal, and has the terminal not show it until the end.
func hide(stdin *os.File, stderr io.Writer) (end func()) {
	var was syscall.Termios
	if control(stdin, syscall.TCGETS, &was) != nil {
		return func() {}
	}
	io.WriteString(stderr, "Token: ")
	quiet := was
	quiet.Lflag &^= syscall.ECHO
	control(stdin, syscall.TCSETS, &quiet)
	return func() {
		control(stdin, syscall.TCSETS, &was)
		io.WriteString(stderr, "\n")
	}
}

func control(f *os.File, request uintptr, t *syscall.Termios) error {
	if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(t))); err != 0 {
		return err
	}
	return nil
}

// ask asks the daemon whose the token is.
func ask(at conn.Client) (*v1.Caller, error) {
	c := conn.At(at)
	defer c.Close()
	status, reply, err := c.Do("GET", "/fed/v1/caller", nil)
	if err != nil {
		return nil, detail(err)
	}
	if status >= 400 {
		return nil, errors.New("the daemon at " + c.Server() + " refuses the token: " + show.Refusal(reply).Error())
	}
	who := new(v1.Caller)
	if err := json.Unmarshal(reply, who); err != nil || who.User == "" {
		return nil, errors.New("the server at " + c.Server() + " is not an fsub daemon, or one of another version")
	}
	return who, nil
}

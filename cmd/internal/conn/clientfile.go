package conn

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ClientFile is where a machine without the socket finds the daemons, for all its users. The environment's FSUB_CLIENT_FILE names another.
const ClientFile = "/etc/fsub/client.yaml"

// DefaultPort is that of a server whose address names none.
const DefaultPort = "6829"

// Client is how a machine without the socket reaches the daemons: what a [ClientFile] says, or a user's own file, which [Client.Save] writes.
type Client struct {
	Servers []string // HOST[:PORT][#FINGERPRINT]: the first that answers is used
	CAFile  string   // PEM file of the authorities that may have signed their certificates; "": those that this machine trusts
	Token   string   // in a user's own file only
	// Munge is the site whose munge key this machine has: without a token a credential says who calls. MungeSocket is where its munged listens; "": at its usual place.
	Munge, MungeSocket string
	// Stranger: nothing says who calls, as when somebody signs in. Not in any file.
	Stranger bool
	// Own is the name of a token that fsub login has had made for this machine alone: fsub logout revokes it. In a user's own file only.
	Own string
}

// LoginFile is where a user's own file is; "" without a home directory.
func LoginFile(env []string) string {
	dir := value(env, "XDG_CONFIG_HOME")
	if home := value(env, "HOME"); dir == "" && home != "" {
		dir = home + "/.config"
	}
	if dir == "" {
		return ""
	}
	return dir + "/fsub/login.yaml"
}

// value is that of a variable of the environment.
func value(env []string, name string) (v string) {
	for _, e := range env {
		if n, val, ok := strings.Cut(e, "="); ok && n == name {
			v = val
		}
	}
	return v
}

// ReadClientFile reads the file of a machine. A file that does not exist says nothing.
func ReadClientFile(env []string) (Client, error) {
	path := value(env, "FSUB_CLIENT_FILE")
	if path == "" {
		path = ClientFile
	}
	return readClient(path, false)
}

// ReadLogin reads the user's own file. A file that does not exist says nothing.
func ReadLogin(env []string) (Client, error) {
	path := LoginFile(env)
	if path == "" {
		return Client{}, nil
	}
	return readClient(path, true)
}

// readClient reads a file of KEY: VALUE lines. It takes what YAML has for a text and for a list of texts, and no more of YAML: this program starts in a millisecond.
func readClient(path string, private bool) (c Client, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return c, err
	}
	if sys := st.Sys().(*syscall.Stat_t); private && (st.Mode().Perm()&0o077 != 0 || sys.Uid != uint32(os.Geteuid())) {
		return c, errors.New(path + " has a token that others may read: chmod 600 it, or create another token and run fsub login again")
	}
	const most = 64 << 10
	if st.Size() > most {
		return c, errors.New(path + " is larger than 64 KiB")
	}
	text := make([]byte, st.Size())
	n, _ := f.Read(text)
	in := clientReader{c: &c, private: private}
	for i, line := range strings.Split(string(text[:n]), "\n") {
		if err := in.line(line); err != nil {
			return c, errors.New(path + ": line " + strconv.Itoa(i+1) + ": " + err.Error())
		}
	}
	return c, nil
}

type clientReader struct {
	c       *Client
	private bool
	inList  bool // lines that begin with "- " are servers
}

func (r *clientReader) line(line string) error {
	text := strings.TrimSpace(line)
	if text == "" || text[0] == '#' || text == "---" {
		return nil
	}
	if item, ok := strings.CutPrefix(text, "- "); ok && r.inList {
		r.c.Servers = append(r.c.Servers, scalar(item))
		return nil
	}
	key, val, ok := strings.Cut(text, ":")
	if !ok || line[0] == ' ' || line[0] == '\t' {
		return errors.New("want KEY: VALUE, or the servers below each other, each after \"- \"")
	}
	val = strings.TrimSpace(val)
	r.inList = false
	switch key {
	case "server":
		r.c.Servers = nil
		list, isList := strings.CutPrefix(val, "[")
		switch {
		case isList && !strings.HasSuffix(list, "]"):
			return errors.New("a list ends in ]")
		case isList:
			r.c.Servers = Servers(strings.TrimSuffix(list, "]"))
		case val == "":
			r.inList = true
		default:
			r.c.Servers = Servers(val)
		}
		return nil
	case "ca_file":
		r.c.CAFile = scalar(val)
		return nil
	case "munge":
		r.c.Munge = scalar(val)
		return nil
	case "munge_socket":
		r.c.MungeSocket = scalar(val)
		return nil
	case "token":
		if !r.private {
			return errors.New("a token is not for all users: it belongs in the file that fsub login writes")
		}
		r.c.Token = scalar(val)
		return nil
	case "own":
		r.c.Own = scalar(val)
		return nil
	}
	return errors.New("unknown key " + strconv.Quote(key) + ": want server, ca_file, munge or munge_socket")
}

// scalar is a text without its quotes, or without the comment behind it.
func scalar(text string) string {
	text = strings.TrimSpace(text)
	if n := len(text); n > 1 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	text, _, _ = strings.Cut(text, " #")
	return strings.TrimSpace(text)
}

// Servers reads addresses with commas between them.
func Servers(list string) (all []string) {
	for _, s := range strings.Split(list, ",") {
		if s = scalar(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// Save writes c to the user's own file, which nobody else may read.
func (c *Client) Save(path string) error {
	text := "# Written by fsub login; fsub logout removes it.\nserver: [" + strings.Join(c.Servers, ", ") + "]\n"
	if c.CAFile != "" {
		text += "ca_file: " + c.CAFile + "\n"
	}
	text += "token: " + c.Token + "\n"
	if c.Own != "" {
		text += "own: " + c.Own + "\n"
	}
	if err := os.MkdirAll(path[:strings.LastIndexByte(path, '/')], 0o700); err != nil {
		return err
	}
	temporary := path + "." + strconv.Itoa(os.Getpid())
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		os.Remove(temporary)
	}
	return err
}

// address is a server's as [Conn] has it.
func address(server string) string {
	host, print, pinned := strings.Cut(server, "#")
	if colon := strings.LastIndexByte(host, ':'); colon < 0 || strings.HasSuffix(host, "]") || strings.Count(host, ":") > 1 && host[0] != '[' {
		if strings.Contains(host, ":") && host[0] != '[' { // an IPv6 address
			host = "[" + host + "]"
		}
		host += ":" + DefaultPort
	}
	if pinned {
		host += "#" + print
	}
	return "tls://" + host
}

// At makes a Conn to the servers that c names.
func At(c Client) *Conn {
	conn := New("", 0)
	conn.use(c)
	return conn
}

func (c *Conn) use(at Client) {
	c.own, c.others = "", nil
	for i, s := range at.Servers {
		if i == 0 {
			c.path = address(s)
		} else {
			c.others = append(c.others, address(s))
		}
	}
	c.ca, c.token, c.site, c.munged, c.stranger = at.CAFile, at.Token, at.Munge, at.MungeSocket, at.Stranger
}

// Find is how the environment and the files of this machine reach the daemons over TLS, for a program that is on the daemon's machine as well as on others: a socket of this
// machine is preferred to what a file says, since home directories are shared between machines, but not to what the environment says. The addresses are HOST:PORT[#FINGERPRINT];
// none: the daemon is to be asked at socket.
func Find(env []string, socket string) (Client, error) {
	if value(env, "FSUB_SOCKET") != "" || value(env, "FSUB_SERVER") == "" && exists(socket) {
		return Client{}, nil
	}
	at, err := find(env)
	for i, s := range at.Servers {
		at.Servers[i] = strings.TrimPrefix(address(s), "tls://")
	}
	return at, err
}

// find says how the environment and the files of this machine reach the daemons over TLS; no servers: they say nothing of it, and there is a socket. A token goes to no
// servers but those that it was given for.
func find(env []string) (Client, error) {
	login, err := ReadLogin(env)
	if err != nil {
		return login, err
	}
	named := Servers(value(env, "FSUB_SERVER"))
	token := value(env, "FSUB_TOKEN")
	at := Client{Servers: named, Token: token}
	switch {
	case len(named) == 0 && len(login.Servers) > 0, len(named) > 0 && among(named, login.Servers):
		at.CAFile = login.CAFile
		if at.Token == "" {
			at.Token = login.Token
		}
		if len(named) == 0 {
			at.Servers = login.Servers
		}
		return at, nil
	}
	machine, err := ReadClientFile(env)
	if len(named) == 0 {
		at.Servers = machine.Servers
	}
	at.CAFile, at.Munge, at.MungeSocket = machine.CAFile, machine.Munge, machine.MungeSocket
	return at, err
}

// among reports whether all servers are among others.
func among(servers, others []string) bool {
	for _, s := range servers {
		found := false
		for _, o := range others {
			found = found || address(s) == address(o)
		}
		if !found {
			return false
		}
	}
	return true
}

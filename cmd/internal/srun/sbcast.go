package srun

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"fsub/cloud/layout"
	"fsub/cloud/steps/wire"
	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	"fsub/sbatch/getopt"
)

var sbcastOptions = []getopt.Described{
	{Option: getopt.Option{Name: "compress", Short: 'C', Arg: opt, ID: 'C'}, Value: "library", Help: "taken without effect: what is sent is not compressed"},
	{Option: getopt.Option{Name: "exclude", Arg: req, ID: 'x'}, Value: "names", Help: "taken without effect: libraries are not sent"},
	{Option: getopt.Option{Name: "force", Short: 'f', ID: 'f'}, Help: "replace a file that is there"},
	{Option: getopt.Option{Name: "fanout", Short: 'F', Arg: req, ID: 'F'}, Value: "n", Help: "taken without effect: how many nodes are served at once"},
	{Option: getopt.Option{Name: "treewidth", Arg: req, ID: 'F'}, Value: "n", Help: "same as --fanout"},
	{Option: getopt.Option{Name: "jobid", Short: 'j', Arg: req, ID: 'j'}, Value: "id", Help: "taken without effect: it is the job that sbcast is called in"},
	{Option: getopt.Option{Name: "preserve", Short: 'p', ID: 'p'}, Help: "keep the times of the file"},
	{Option: getopt.Option{Name: "send-libs", Arg: opt, ID: 'l'}, Value: "yes|no", Help: "refused: copy libraries by their names"},
	{Option: getopt.Option{Name: "size", Short: 's', Arg: req, ID: 's'}, Value: "size", Help: "taken without effect: how much is sent at once"},
	{Option: getopt.Option{Name: "timeout", Short: 't', Arg: req, ID: 't'}, Value: "seconds", Help: "taken without effect: how long a node may take"},
	{Option: getopt.Option{Name: "verbose", Short: 'v', ID: 'v'}, Help: "taken without effect: nothing more is said"},
	{Option: getopt.Option{Name: "version", Short: 'V', ID: 'V'}, Help: "show the version of Slurm whose sbcast this is"},
	{Option: getopt.Option{Name: "help", ID: 'h'}, Help: "show this help"},
	{Option: getopt.Option{Name: "usage", ID: 'u'}, Help: "show how sbcast is called"},
}

var sbcastSet = getopt.NewSet("sbcast", getopt.Plain(sbcastOptions))

// AboutSbcast describes sbcast.
func AboutSbcast() option.About {
	return option.About{Name: "sbcast", Does: "copy a file to all nodes of a job", Usage: []string{strings.TrimSpace(strings.TrimPrefix(sbcastUsage, "Usage: "))},
		Text:   "Copies a file to all nodes of the job in which it is called. Within a job at a Slurm cluster sbcast is the cluster's own.",
		Groups: []getopt.Group{{Title: "Options", Options: sbcastOptions}}}
}

const sbcastUsage = "Usage: sbcast [--exclude] [-CfFjpvV] [--send-libs] SOURCE DEST\n"

// sbcast copies a file to all nodes of the job: a step of one task per node, whose program is the
// step daemon's own.
func sbcast(args, env []string, stdout, stderr io.Writer) int {
	fail := func(code int, format string, a ...any) int {
		fmt.Fprintf(stderr, "sbcast: error: "+format+"\n", a...)
		return code
	}
	found, files, err := sbcastSet.Parse(args, getopt.Permute)
	if err != nil {
		fmt.Fprintf(stderr, "%s\nTry \"sbcast --help\" for more information\n", err)
		return 1
	}
	var what wire.File
	preserve := false
	for _, f := range found {
		switch f.ID {
		case 'f':
			what.Force = true
		case 'p':
			preserve = true
		case 'V':
			fmt.Fprintln(stdout, show.Version)
			return 0
		case 'h':
			about := AboutSbcast()
			io.WriteString(stdout, about.Help())
			return 0
		case 'u':
			io.WriteString(stdout, sbcastUsage)
			return 0
		case 'l':
			if f.Value != "no" {
				return fail(1, "--send-libs is not carried out on rented nodes: copy the libraries by their names")
			}
		}
	}
	if len(files) != 2 {
		fmt.Fprintf(stderr, "Need two file names, have %d names\nTry \"sbcast --help\" for more information\n", len(files))
		return 1
	}
	socket := show.Env(env, wire.SocketEnv)
	if socket == "" {
		return fail(1, "Slurm job ID not specified")
	}
	f, err := os.Open(files[0])
	if err != nil {
		return fail(255, "Can't open `%s`: %s", files[0], reason(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return fail(255, "%s is not a regular file", files[0])
	}
	what.Mode = info.Mode().Perm()
	if preserve {
		what.Modified, what.Accessed = info.ModTime(), info.ModTime()
	}
	if what.Dest, err = filepath.Abs(files[1]); err != nil {
		return fail(1, "%s", err)
	}
	return broadcast(f, what, socket, env, stderr)
}

// broadcast sends the file through a step's stdin.
func broadcast(f *os.File, what wire.File, socket string, env []string, stderr io.Writer) int {
	order, _ := json.Marshal(what)
	ask := layout.Step{Overlap: true, Overcommit: true, NoGPUs: true}
	ask.MinNodes, _ = strconv.Atoi(envOf(env, "SLURM_JOB_NUM_NODES"))
	quiet := wire.Stream{Kind: "null"}
	r := wire.Request{Name: "sbcast", Receive: string(order), Parts: []wire.Part{{Ask: ask, Argv: []string{"sbcast"}, Env: env, Dir: "/", Umask: 0o022, Stdout: quiet, Stderr: quiet}}}
	c, err := conn.Dial(socket)
	if err != nil {
		fmt.Fprintf(stderr, "sbcast: error: the step service of this node does not answer: %s\n", err)
		return 1
	}
	defer c.Close()
	s := &session{out: wire.NewWriter(c), stderr: stderr, first: &call{}, lost: "the step service of this node has gone"}
	if err := s.out.WriteJSON(wire.Create, 0, r); err != nil {
		return 1
	}
	in := wire.NewReader(bufio.NewReaderSize(c, 64<<10))
	if err := s.created(in); err != nil {
		fmt.Fprintf(stderr, "sbcast: error: %s", err)
		return 1
	}
	s.credit = newCredit(len(s.layout.Nodes))
	go s.feed(f)
	return s.followBroadcast(in)
}

// followBroadcast tells of the nodes where it went wrong; the exit code is the error's number.
func (s *session) followBroadcast(in *wire.Reader) int {
	code := 0
	for {
		f, err := in.Read()
		if err != nil {
			fmt.Fprintf(s.stderr, "sbcast: error: the step service of this node has gone: %s\n", err)
			return 1
		}
		switch f.Kind {
		case wire.End:
			return code
		case wire.Taken:
			n, _ := wire.JSON[uint64](f)
			s.credit.give(int(f.N), n)
		case wire.NodeEnd:
			s.credit.gone(int(f.N))
		case wire.NodeLost:
			s.credit.gone(int(f.N))
			fmt.Fprintf(s.stderr, "sbcast: error: REQUEST_FILE_BCAST(%s): Communication connection failure\n", s.layout.Nodes[f.N].Name)
			code = 1
		case wire.Exits:
			exits, _ := wire.JSON[[]wire.Exit](f)
			for _, e := range exits {
				if e.Status != 0 {
					code = syscall.WaitStatus(e.Status).ExitStatus()
					fmt.Fprintf(s.stderr, "sbcast: error: REQUEST_FILE_BCAST(%s): %s\n", s.layout.Nodes[f.N].Name, reason(syscall.Errno(code)))
				}
			}
		}
	}
}

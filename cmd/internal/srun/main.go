package srun

import (
	"fmt"
	"io"
	"os"

	"fsub/cloud/steps/wire"
	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/refusal"
	"fsub/cmd/internal/show"
)

// Main is srun or sbcast by name; it returns the exit code.
func Main(name string, args, env []string, stdin *os.File, stdout, stderr io.Writer) int {
	if name == "sbcast" {
		return sbcast(args, env, stdout, stderr)
	}
	socket := show.Env(env, wire.SocketEnv)
	if socket == "" && !asksOnly(args) {
		return refusal.Main(name, args, env, stdout, stderr)
	}
	s := &session{env: env, stdin: stdin, stdout: stdout, stderr: stderr, lost: "the step service of this node has gone"}
	s.dial = func() (io.ReadWriteCloser, error) {
		c, err := conn.Dial(socket)
		if err != nil {
			return nil, fmt.Errorf("the step service of this node does not answer: %w", err)
		}
		return c, nil
	}
	return s.main(args)
}

// main runs the step of a command line, and says what it failed with.
func (s *session) main(args []string) int {
	code, err := s.run(args)
	if e, ok := err.(*exit); ok {
		if e == askedHelp {
			about := About()
			io.WriteString(s.stdout, about.Help())
			return 0
		}
		io.WriteString(s.stdout, e.stdout)
		io.WriteString(s.stderr, e.stderr)
		return e.code
	}
	if err != nil {
		fmt.Fprintf(s.stderr, "srun: error: %s\n", err)
		return 1
	}
	return code
}

// asksOnly: these need no job.
func asksOnly(args []string) bool {
	if len(args) != 1 {
		return false
	}
	switch args[0] {
	case "--help", "-h", "--usage", "--version", "-V", "--mpi=list":
		return true
	}
	return false
}

package srun

import (
	"fmt"
	"io"
	"os"

	"fsub/cloud/steps"
	"fsub/cmd/internal/refusal"
	"fsub/cmd/internal/show"
)

// Main is srun or sbcast by name; it returns the exit code.
func Main(name string, args, env []string, stdin *os.File, stdout, stderr io.Writer) int {
	if name == "sbcast" {
		return sbcast(args, env, stdout, stderr)
	}
	socket := show.Env(env, steps.SocketEnv)
	if socket == "" && !asksOnly(args) {
		return refusal.Main(name, args, env, stdout, stderr)
	}
	s := &session{env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	code, err := s.run(args, socket)
	if e, ok := err.(*exit); ok {
		io.WriteString(stdout, e.stdout)
		io.WriteString(stderr, e.stderr)
		return e.code
	}
	if err != nil {
		fmt.Fprintf(stderr, "srun: error: %s\n", err)
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

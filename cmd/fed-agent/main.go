// Command fed-agent is what a rented machine runs: "fed-agent -boot FILE" is the agent (package
// agent). By other names it is the commands that a job finds there: srun, sbcast and ssh, those
// of fsub, and fsub-copy for the script that carries a job's files. It is one static file, so that a machine needs nothing else of ours.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fsub/cloud/container/hold"
	"fsub/cloud/local/inside"
	"fsub/cloud/steps"
	"fsub/cloud/steps/wire"
	"fsub/cmd/fed-agent/internal/copies"
	"fsub/cmd/fed-agent/internal/relay"
	"fsub/cmd/fed-agent/internal/ssh"
	"fsub/cmd/internal/commands"
	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/crash"
	"fsub/cmd/internal/srun"
)

// stepDaemon is the word by which the agent starts the daemon of a step.
const stepDaemon = "step-daemon"

func main() {
	inside.Main()
	if len(os.Args) > 1 && os.Args[1] == stepDaemon {
		os.Exit(steps.Daemon())
	}
	if n := len(os.Args); n == 3 && os.Args[1] == hold.Word {
		os.Exit(hold.Main(os.Args[2]))
	} else if n > 3 && os.Args[1] == hold.BatchWord {
		os.Exit(hold.Batch(os.Args[2], os.Args[3:]))
	}
	name := filepath.Base(os.Args[0])
	command := named(name)
	if command == nil && len(os.Args) == 3 && os.Args[1] == "-boot" {
		os.Exit(serve(os.Args[2], os.Stderr)) // the stack of a panic is to be in the machine's log
	} else if command == nil {
		fmt.Fprintf(os.Stderr, "%s: error: usage: fed-agent -boot FILE; by the names of Slurm's commands (srun, sbcast, sbatch, squeue ...) it is those\n", name)
		os.Exit(1)
	}
	os.Exit(crash.Guard(name, os.Stderr, func() int { return command.Run(name, os.Args[1:], os.Environ(), os.Stdout, os.Stderr) }))
}

// named is the command called name, nil if there is none.
func named(name string) commands.Main {
	switch name {
	case "srun", "sbcast":
		return func(args, env []string, stdout, stderr io.Writer, _ *conn.Conn) int {
			return srun.Main(name, args, env, os.Stdin, stdout, stderr)
		}
	case wire.Relay:
		return func(args, _ []string, stdout, stderr io.Writer, _ *conn.Conn) int {
			return relay.Main(args, os.Stdin, stdout, stderr)
		}
	case copies.Name:
		return func(args, _ []string, _, stderr io.Writer, _ *conn.Conn) int {
			return copies.Main(args, os.Stdin, os.Stdout, stderr)
		}
	case "ssh":
		return func(args, env []string, stdout, stderr io.Writer, _ *conn.Conn) int {
			return ssh.Main(args, env, os.Stdin, stdout, stderr)
		}
	}
	return commands.Named(name)
}

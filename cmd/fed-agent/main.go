// Command fed-agent is what a rented machine runs: "fed-agent -boot FILE" is the agent (package
// agent). By other names it is the commands that a job finds there: srun, sbcast and ssh, and those
// of fsub. It is one static file, so that a machine needs nothing else of ours.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fsub/cloud/container/hold"
	"fsub/cloud/local/inside"
	"fsub/cloud/steps"
	"fsub/cmd/fed-agent/internal/srun"
	"fsub/cmd/fed-agent/internal/ssh"
	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/crash"
	"fsub/cmd/internal/refusal"
	"fsub/cmd/internal/sacct"
	"fsub/cmd/internal/sacctmgr"
	"fsub/cmd/internal/scancel"
	"fsub/cmd/internal/scontrol"
	"fsub/cmd/internal/sinfo"
	"fsub/cmd/internal/squeue"
	"fsub/cmd/internal/sshare"
	"fsub/cmd/internal/submit"
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
	if commands[name] == nil && len(os.Args) == 3 && os.Args[1] == "-boot" {
		os.Exit(serve(os.Args[2], os.Stderr)) // the stack of a panic is to be in the machine's log
	}
	os.Exit(crash.Guard(name, os.Stderr, func() int { return run(name, os.Args[1:], os.Environ(), os.Stdout, os.Stderr) }))
}

type command func(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int

var commands = map[string]command{
	"fsub": submit.Main, "sbatch": submit.Main, "squeue": squeue.Main, "scancel": scancel.Main, "sacct": sacct.Main, "sinfo": sinfo.Main,
	"scontrol": scontrol.Main, "sacctmgr": sacctmgr.Main, "sshare": sshare.Main,
	"srun": step("srun"), "sbcast": step("sbcast"),
	"ssh": func(args, env []string, stdout, stderr io.Writer, _ *conn.Conn) int {
		return ssh.Main(args, env, os.Stdin, stdout, stderr)
	},
	"salloc": func(args, env []string, stdout, stderr io.Writer, _ *conn.Conn) int {
		return refusal.Main("salloc", args, env, stdout, stderr)
	},
}

func step(name string) command {
	return func(args, env []string, stdout, stderr io.Writer, _ *conn.Conn) int {
		return srun.Main(name, args, env, os.Stdin, stdout, stderr)
	}
}

// run is the program by its name.
func run(name string, args, env []string, stdout, stderr io.Writer) int {
	if main := commands[name]; main != nil {
		c := conn.FromEnv(env)
		defer c.Close()
		return main(args, env, stdout, stderr, c)
	}
	fmt.Fprintf(stderr, "%s: error: usage: fed-agent -boot FILE; by the names of srun, sbcast, sbatch, squeue, scancel, sacct, sinfo, scontrol, sacctmgr and sshare it is those\n", name)
	return 1
}

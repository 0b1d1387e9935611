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
	os.Exit(run(filepath.Base(os.Args[0]), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// command is the shape of most commands.
type command func(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int

var commands = map[string]command{
	"fsub": submit.Main, "sbatch": submit.Main, "squeue": squeue.Main, "scancel": scancel.Main, "sacct": sacct.Main, "sinfo": sinfo.Main,
	"scontrol": scontrol.Main, "sacctmgr": sacctmgr.Main, "sshare": sshare.Main,
}

// run is the program by its name.
func run(name string, args, env []string, stdout, stderr io.Writer) int {
	switch name {
	case "srun", "sbcast":
		return srun.Main(name, args, env, os.Stdin, stdout, stderr)
	case "ssh":
		return ssh.Main(args, env, os.Stdin, stdout, stderr)
	case "salloc":
		return refusal.Main(name, args, env, stdout, stderr)
	}
	if main := commands[name]; main != nil {
		c := conn.FromEnv(env)
		defer c.Close()
		return main(args, env, stdout, stderr, c)
	}
	if len(args) == 2 && args[0] == "-boot" {
		return serve(args[1], stderr)
	}
	fmt.Fprintf(stderr, "%s: error: usage: fed-agent -boot FILE; by the names of srun, sbcast, sbatch, squeue, scancel, sacct, sinfo, scontrol, sacctmgr and sshare it is those\n", name)
	return 1
}

// Command fsub is the small client of the daemon. What it does depends on the name it is called by:
// fsub and sbatch submit a job, squeue scancel sinfo sacct scontrol sacctmgr sshare sprio sstat seff sreport sdiag do what Slurm's
// commands of these names do, over the whole federation; srun and salloc get jobs and run steps on a
// login node; they and others give way to the site's own within a job.
//
// It starts in well under a millisecond, so that a loop of submissions is not slowed by it: one
// static binary without net, net/http, regexp or init work, one request to the daemon's unix socket
// (package conn). A test holds the list.
package main

import (
	"io"
	"os"
	"strings"

	"fsub/cmd/internal/build"
	"fsub/cmd/internal/commands"
	"fsub/cmd/internal/crash"
	"fsub/cmd/internal/refusal"
)

func main() {
	far(os.Environ())
	name := os.Args[0][strings.LastIndexByte(os.Args[0], '/')+1:]
	os.Exit(crash.Guard(name, os.Stderr, func() int { return run(name, os.Args[1:], os.Environ(), os.Stdout, os.Stderr) }))
}

// run is the command called name; it returns the exit code.
func run(name string, args, env []string, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == "--fed-version" { // --version is Slurm's
		io.WriteString(stdout, "fsub "+build.Read().String()+"\n")
		return 0
	}
	main := commands.Named(name)
	if main != nil && len(args) > 1 && args[0] == "--fed-words" { // a shell's completion asks
		commands.Words(name, args[1:], env, stdout)
		return 0
	}
	if main != nil {
		return main.Run(name, args, env, stdout, stderr)
	}
	io.WriteString(stderr, name+": error: fsub does not know a command of this name; it is fsub, "+strings.Join(commands.Names, ", ")+", "+
		strings.Join(refusal.Names, ", ")+" by the name of the file\n")
	return 1
}

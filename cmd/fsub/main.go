// Command fsub is the small client of the daemon. What it does depends on the name it is called by:
// fsub and sbatch submit a job, squeue scancel sinfo sacct scontrol sacctmgr sshare do what Slurm's
// commands of these names do, over the whole federation; srun and salloc give way to the site's own
// within a job.
//
// It starts in well under a millisecond, so that a loop of submissions is not slowed by it: one
// static binary without net, net/http, regexp or init work, one request to the daemon's unix socket
// (package conn). A test holds the list.
package main

import (
	"io"
	"os"
	"strings"

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

func main() {
	name := os.Args[0][strings.LastIndexByte(os.Args[0], '/')+1:]
	os.Exit(crash.Guard(name, os.Stderr, func() int { return run(name, os.Args[1:], os.Environ(), os.Stdout, os.Stderr) }))
}

// run is the command called name; it returns the exit code. Every command has the same shape:
//
//	Main(args []string, env []string, stdout, stderr io.Writer, c *conn.Conn) (exit int)
//
// args are the words after the name. c is not connected before its first use.
func run(name string, args, env []string, stdout, stderr io.Writer) int {
	c := conn.FromEnv(env)
	defer c.Close()
	switch name {
	case "fsub", "fsub-remote", "sbatch":
		return submit.Main(args, env, stdout, stderr, c)
	case "squeue":
		return squeue.Main(args, env, stdout, stderr, c)
	case "scancel":
		return scancel.Main(args, env, stdout, stderr, c)
	case "sacct":
		return sacct.Main(args, env, stdout, stderr, c)
	case "sinfo":
		return sinfo.Main(args, env, stdout, stderr, c)
	case "scontrol":
		return scontrol.Main(args, env, stdout, stderr, c)
	case "sacctmgr":
		return sacctmgr.Main(args, env, stdout, stderr, c)
	case "sshare":
		return sshare.Main(args, env, stdout, stderr, c)
	case "srun", "salloc":
		return refusal.Main(name, args, env, stdout, stderr)
	}
	io.WriteString(stderr, name+": error: fsub does not know a command of this name; it is fsub, sbatch, squeue, scancel, "+
		"sinfo, sacct, scontrol, sacctmgr, sshare, srun or salloc by the name of the file\n")
	return 1
}

// Package commands is Slurm's commands by name, for the programs that are all of them.
package commands

import (
	"io"

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

// Main is a command: args are the words after its name, c is not connected before its first use. It returns the exit code.
type Main func(args, env []string, stdout, stderr io.Writer, c *conn.Conn) (exit int)

// Run runs the command main.
func (main Main) Run(args, env []string, stdout, stderr io.Writer) (exit int) {
	c := conn.FromEnv(env)
	defer c.Close()
	return main(args, env, stdout, stderr, c)
}

// Named is the command called name; nil if there is none. srun and salloc are those that give way to a site's own.
func Named(name string) Main {
	switch name {
	case "fsub", "fsub-remote":
		return submit.Main
	case "sbatch":
		return submit.Sbatch
	case "squeue":
		return squeue.Main
	case "scancel":
		return scancel.Main
	case "sacct":
		return sacct.Main
	case "sinfo":
		return sinfo.Main
	case "scontrol":
		return scontrol.Main
	case "sacctmgr":
		return sacctmgr.Main
	case "sshare":
		return sshare.Main
	case "srun", "salloc":
		return func(args, env []string, stdout, stderr io.Writer, _ *conn.Conn) int {
			return refusal.Main(name, args, env, stdout, stderr)
		}
	}
	return nil
}

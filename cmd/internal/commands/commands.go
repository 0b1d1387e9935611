// Package commands is Slurm's commands by name, for the programs that are all of them.
package commands

import (
	"io"
	"os"
	"slices"
	"strings"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/login"
	"fsub/cmd/internal/refusal"
	"fsub/cmd/internal/sacct"
	"fsub/cmd/internal/sacctmgr"
	"fsub/cmd/internal/salloc"
	"fsub/cmd/internal/scancel"
	"fsub/cmd/internal/scontrol"
	"fsub/cmd/internal/sdiag"
	"fsub/cmd/internal/seff"
	"fsub/cmd/internal/show"
	"fsub/cmd/internal/sinfo"
	"fsub/cmd/internal/sprio"
	"fsub/cmd/internal/squeue"
	"fsub/cmd/internal/sreport"
	"fsub/cmd/internal/srun"
	"fsub/cmd/internal/sshare"
	"fsub/cmd/internal/submit"
)

// Main is a command: args are the words after its name, c is not connected before its first use. It returns the exit code.
type Main func(args, env []string, stdout, stderr io.Writer, c *conn.Conn) (exit int)

// Run runs the command main, which is called name. Where it fails since the daemon does not answer, or does not know who calls, and has said so in Slurm's words alone, a line
// with the reason follows.
func (main Main) Run(name string, args, env []string, stdout, stderr io.Writer) (exit int) {
	c := conn.FromEnv(env)
	defer c.Close()
	show.AskUID(c)
	said := &heard{Writer: stderr}
	exit = main(args, env, stdout, said, c)
	if why := c.Why(); exit != 0 && why != "" && !strings.Contains(said.text, why) {
		io.WriteString(stderr, name+": error: "+why+"\n")
	}
	return exit
}

// heard remembers the beginning of what is written.
type heard struct {
	io.Writer
	text string
}

func (h *heard) Write(p []byte) (int, error) {
	const most = 64 << 10
	h.text += string(p[:min(len(p), most-min(len(h.text), most))])
	return h.Writer.Write(p)
}

// own are the commands that the federation answers.
var own = map[string]Main{
	"fsub": fsub, "fsub-remote": fsub, "sbatch": submit.Sbatch, "squeue": squeue.Main, "scancel": scancel.Main, "sacct": sacct.Main, "sinfo": sinfo.Main,
	"scontrol": scontrol.Main, "sacctmgr": sacctmgr.Main, "sshare": sshare.Main, "sprio": sprio.Main, "sstat": sacct.Stat, "seff": seff.Main, "sreport": sreport.Main,
	"sdiag": sdiag.Main,
}

// fsub submits, or signs in and out: a script that is called login is ./login.
func fsub(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	if len(args) > 0 {
		switch args[0] {
		case "login":
			return login.Main(args[1:], env, os.Stdin, stdout, stderr)
		case "logout":
			return login.Logout(args[1:], env, stdout, stderr)
		}
	}
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		about := submit.AboutFsub()
		io.WriteString(stdout, about.Help())
		return 0
	}
	return submit.Main(args, env, stdout, stderr, c)
}

// Names are Slurm's commands that the federation answers, in the order in which they are linked and listed. [refusal.Names] are those that give way to a site's own.
var Names = []string{"sbatch", "squeue", "scancel", "sacct", "sinfo", "scontrol", "sacctmgr", "sshare", "sprio", "sstat", "seff", "sreport", "sdiag"}

// onLogin is srun on a login node: a step of a job that runs, or a job and its step.
func onLogin(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	if srun.Without(args, env) {
		return salloc.Srun(args, env, stdout, stderr, c)
	}
	return srun.Login(args, env, stdout, stderr, c)
}

// Named is the command called name; nil if there is none.
func Named(name string) Main {
	switch name {
	case "srun":
		return onLogin
	case "salloc":
		return salloc.Main
	}
	if slices.Contains(refusal.Names, name) {
		return func(args, env []string, stdout, stderr io.Writer, _ *conn.Conn) int {
			return refusal.Main(name, args, env, stdout, stderr)
		}
	}
	return own[name]
}

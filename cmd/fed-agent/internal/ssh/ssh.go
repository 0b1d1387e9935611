// Package ssh is ssh in the jobs of rented nodes, which run no sshd and hold no keys. "ssh NODE
// COMMAND" for a node of the job is a step there, so that what starts its daemons by ssh (DeepSpeed
// and its pdsh, mpirun without Slurm's part, rsync) works unchanged, and what it leaves behind ends
// with the job. Everything else is left to the machine's own ssh.
package ssh

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"fsub/cloud/steps"
	"fsub/cmd/internal/refusal"
	"fsub/cmd/internal/show"
	"fsub/cmd/internal/srun"
	"fsub/slurm/hostlist"
)

// notFound is a shell's exit code for a command that is not there.
const notFound = 127

// Main is ssh; it returns the exit code, if the process does not become the machine's own ssh.
func Main(args, env []string, stdin *os.File, stdout, stderr io.Writer) int {
	if c, ok := parse(args); ok && c.inJob(env) {
		return srun.Main("srun", c.step(env), env, stdin, stdout, stderr)
	}
	next := refusal.Next("ssh", show.Env(env, "PATH"), func() (os.FileInfo, error) { return os.Stat("/proc/self/exe") })
	if next == "" {
		fmt.Fprintln(stderr, "ssh: error: this machine has no ssh. Within a job, ssh NODE COMMAND works for the job's own nodes")
		return notFound
	}
	err := syscall.Exec(next, append([]string{"ssh"}, args...), env)
	fmt.Fprintf(stderr, "ssh: error: %s: %s\n", next, err)
	return notFound
}

// call is a command line of ssh that asks for a command on a host, and for nothing that takes a
// connection of ssh.
type call struct {
	user, host string
	words      []string
	noInput    bool
}

// Letters of ssh's options (OpenSSH 9.2): those that matter to the connection only, without a value
// and with one. A letter in neither asks for more (a terminal's escape, forwarding, a subsystem,
// running in the background) and is ssh's own business.
const (
	flags  = "246AaCKkqTtvXxY" // 2: version 2 of the protocol, which pdsh asks for
	values = "BbcEeFIiJlmopS"
)

// parse reads the command line; ok is false where this is nothing for a step.
func parse(args []string) (c call, ok bool) {
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case strings.HasPrefix(word, "-") && word != "-" && word != "--":
			if args, ok = c.options(word[1:], args); !ok {
				return c, false
			}
		case c.host == "" && word != "--":
			c.user, c.host = splitHost(word, c.user)
		case c.host != "":
			if word != "--" {
				args = append([]string{word}, args...)
			}
			c.words = args
			return c, len(args) > 0
		}
	}
	return c, false
}

// options reads one word of options, and what is left of the others.
func (c *call) options(letters string, args []string) ([]string, bool) {
	for i, letter := range letters {
		switch {
		case letter == 'n':
			c.noInput = true
		case strings.ContainsRune(flags, letter):
		case strings.ContainsRune(values, letter):
			value := letters[i+1:]
			if value == "" {
				if len(args) == 0 {
					return nil, false
				}
				value, args = args[0], args[1:]
			}
			if letter == 'l' {
				c.user = value
			}
			return args, true
		default:
			return nil, false
		}
	}
	return args, true
}

// splitHost reads [user@]host. As for ssh, the user of -l has precedence.
func splitHost(word, user string) (u, host string) {
	i := strings.LastIndexByte(word, '@')
	if user == "" && i >= 0 {
		user = word[:i]
	}
	return user, word[i+1:]
}

// inJob reports whether the host is a node of the job that this process is of, asked for as its user.
func (c call) inJob(env []string) bool {
	if show.Env(env, steps.SocketEnv) == "" || c.user != "" && c.user != show.Env(env, "SLURM_JOB_USER") {
		return false
	}
	nodes, err := hostlist.Expand(show.Env(env, "SLURM_JOB_NODELIST"))
	return err == nil && slices.Contains(nodes, c.host)
}

// step is srun's command line. The command starts where a login would, in a shell.
func (c call) step(env []string) []string {
	args := []string{"--external-launcher", "--nodes=1", "--ntasks=1", "--nodelist=" + c.host, "--unbuffered", "--quiet"}
	if c.noInput {
		args = append(args, "--input=none")
	}
	if home := show.Env(env, "HOME"); home != "" {
		args = append(args, "--chdir="+home)
	}
	return append(args, "/bin/sh", "-c", strings.Join(c.words, " "))
}

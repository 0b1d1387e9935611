// Package salloc is the commands salloc and srun on a login node, where there is no job yet: the federation chooses the place as for a batch job, one that only holds what
// it was given. Then salloc runs a command here, with the job's environment, and srun runs one as a step of the job. What ends when a command or a connection does is as in
// Slurm; the job's exit code is 0, or 1 for any other of the command's.
package salloc

import (
	"io"
	"os"
	"os/exec"
	"syscall"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/refusal"
	"fsub/cmd/internal/show"
	"fsub/cmd/internal/srun"
)

const usage = "Usage: salloc [OPTIONS(0)...] [command(0) [args(0)...]]\n"

// Main is salloc.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	if show.Env(env, "SLURM_JOB_ID") != "" {
		return refusal.Main("salloc", args, env, stdout, stderr)
	}
	o, code := readSalloc(args, env, stdout, stderr)
	if o == nil {
		return code
	}
	a := &allocation{name: "salloc", c: c, stderr: stderr, quiet: o.quiet}
	if code := a.get(o); code != 0 {
		return code
	}
	a.info("Granted job allocation %s", a.id)
	if a.job.Nodes != "" {
		a.info("Nodes %s are ready for job", a.job.Nodes)
	}
	if o.noShell {
		return 0
	}
	code, err := a.run(o, env)
	if err != nil {
		a.error("%s", err)
	}
	return code
}

// run runs the command of salloc until it ends, and gives the allocation back.
func (a *allocation) run(o *options, env []string) (int, error) {
	inside, err := a.environment(env)
	if err != nil {
		a.end(1)
		return 1, err
	}
	command := o.command
	if len(command) == 0 {
		command = []string{"/bin/sh"}
		if shell := show.Env(env, "SHELL"); shell != "" {
			command[0] = shell
		}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = inside, os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		a.end(1)
		a.error("Unable to exec command: %s", err)
		return 1, nil
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	gone := a.watch(env)
	for {
		select {
		case <-ended:
			code := exitCode(cmd.ProcessState)
			if !a.revoked {
				a.info("Relinquishing job allocation %s", a.id)
				a.end(code)
			}
			return code, nil
		case <-gone:
			gone = nil
			a.revoke()
			if o.kill != 0 {
				cmd.Process.Signal(o.kill)
			}
		case s := <-a.signals:
			switch s {
			case syscall.SIGTERM: // the command is waited for
				if !a.revoked {
					a.revoke()
					a.cancel()
				}
			case syscall.SIGHUP: // nobody is there any more
				cmd.Process.Signal(s)
				if !a.revoked {
					a.info("Relinquishing job allocation %s", a.id)
					a.end(1)
				}
				return 1, nil
			} // the others reach the command by itself
		}
	}
}

// Srun is srun on a login node, without a job: it gets one for its command.
func Srun(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	if job, ok := watched(args); ok {
		return keepWatch(job, c)
	}
	o, code := readSrun(args, env, stdout, stderr)
	if o == nil {
		return code
	}
	a := &allocation{name: "srun", c: c, stderr: stderr, quiet: o.quiet}
	over := func() {}
	defer func() { over() }()
	a.submitted = func() { over = a.endWithMe(env) }
	if code := a.get(o); code != 0 {
		return code
	}
	code = srun.Step(a.id, args, env, stdout, stderr, c, a.child)
	a.end(code)
	return code
}

// child runs the srun of a Slurm cluster. What ends it ends that, too.
func (a *allocation) child(argv, env []string) (int, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Args, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = argv, env, os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	for {
		select {
		case <-ended:
			return shellCode(cmd.ProcessState), nil
		case s := <-a.signals:
			if s == syscall.SIGTERM || s == syscall.SIGHUP { // a terminal sends the others to both
				cmd.Process.Signal(s)
			}
		}
	}
}

// shellCode is that of a shell.
func shellCode(p *os.ProcessState) int {
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return p.ExitCode()
}

// exitCode is what salloc makes of how its command ended: of the signals that users send it is 0, of others 1.
func exitCode(p *os.ProcessState) int {
	w, ok := p.Sys().(syscall.WaitStatus)
	if !ok || !w.Signaled() {
		return p.ExitCode()
	}
	switch w.Signal() {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL:
		return 0
	}
	return 1
}

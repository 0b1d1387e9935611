package srun

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"fsub/cloud/steps/wire"
	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/refusal"
	"fsub/cmd/internal/show"
	"fsub/sbatch/getopt"
)

// protocol is that of fsub/federation/tunnel, which is too large for a command that starts in a millisecond.
const protocol = "fsub-tunnel"

// AllocationEnv names the job that salloc has allocated for the commands that it runs: they are not inside that job, whose steps go through the daemon.
const AllocationEnv = "FSUB_ALLOCATION"

// Login is srun on a login node: with --jobid, or within salloc, a step of a job that runs.
func Login(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	job, own := jobOf(args), show.Env(env, "SLURM_JOB_ID")
	allocated := own != "" && own == show.Env(env, AllocationEnv)
	if job == "" && allocated {
		job = own
	}
	if job == "" || own != "" && !allocated {
		return refusal.Main("srun", args, env, stdout, stderr)
	}
	return Step(job, args, env, stdout, stderr, c, become)
}

// Without reports whether a call of srun is in no job and names none.
func Without(args, env []string) bool {
	return jobOf(args) == "" && show.Env(env, "SLURM_JOB_ID") == "" && !slices.Contains(args, "--fed-version")
}

// Step runs a step of a job that runs, and returns its exit code: through the daemon, or by the srun of a Slurm cluster, which run runs with an environment.
func Step(job string, args, env []string, stdout, stderr io.Writer, c *conn.Conn, run func(argv, env []string) (int, error)) int {
	o, site, err := open(job, c)
	if site != nil {
		var argv []string
		if argv, err = site.command(withoutJob(args), true, env, os.Stdin); err == nil {
			var code int
			if code, err = run(argv, slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, AllocationEnv+"=") })); err == nil {
				return code
			}
		}
	}
	if err != nil {
		return notIn(job, err, stderr)
	}
	defer o.Close()
	own := slices.DeleteFunc(slices.Clone(env), func(e string) bool { return ofJob(e) && !ofStreams(e) })
	for _, e := range o.info.Env {
		if ofJob(e) && !ofStreams(e) {
			own = append(own, e)
		}
	}
	return o.session(job, own, os.Stdin, stdout, stderr).main(args)
}

// Environment is what the batch script of a job that runs on rented machines is told about its job; nil: the job is at a Slurm cluster.
func Environment(job string, c *conn.Conn) (env []string, err error) {
	o, _, err := open(job, c)
	if o == nil {
		return nil, err
	}
	defer o.Close()
	return o.info.Env, nil
}

// Split parts a command line into its options and the command.
func Split(args []string) (found []getopt.Found, command []string, err error) {
	return newSet().Parse(args, getopt.StopAtFirst)
}

// Attach runs a command in a job that runs, beside its steps, with a terminal where stdin is one; on rented machines in its batch script's environment and directory. No
// command: the user's shell.
func Attach(job string, command, env []string, stdin *os.File, stdout, stderr io.Writer, c *conn.Conn) int {
	args := []string{"--overlap", "--nodes=1", "--ntasks=1"}
	if _, err := winsize(stdin); err == nil {
		args = append(args, "--pty")
	} else {
		args = append(args, "--unbuffered") // what comes may be no lines
	}
	o, site, err := open(job, c)
	if site != nil {
		var argv []string
		if argv, err = site.command(append(args, command...), len(command) > 0, env, stdin); err == nil {
			_, err = become(argv, env)
		}
	}
	if err != nil {
		fmt.Fprintf(stderr, "fed: error: job %s: %s\n", job, err)
		return 1
	}
	defer o.Close()
	own := slices.DeleteFunc(o.info.Env, ofStreams)
	if term := show.Env(env, "TERM"); term != "" {
		own = append(slices.DeleteFunc(own, func(e string) bool { return strings.HasPrefix(e, "TERM=") }), "TERM="+term)
	}
	args = append(args, "--chdir="+o.info.Dir)
	if len(command) == 0 {
		command = []string{"/bin/sh"}
		if shell := show.Env(own, "SHELL"); shell != "" {
			command[0] = shell
		}
	}
	return o.session(job, own, stdin, stdout, stderr).main(append(args, command...))
}

// jobOf is the job that a command line names; "": none.
func jobOf(args []string) (job string) {
	found, _, _ := newSet().Parse(args, getopt.StopAtFirst)
	for _, f := range found {
		if f.Name == "jobid" {
			job = f.Value
		}
	}
	return job
}

// ofJob reports whether a variable describes a job, rather than its user.
func ofJob(e string) bool {
	return strings.HasPrefix(e, "SLURM_") || strings.HasPrefix(e, "SLURMD_") || strings.HasPrefix(e, "FSUB_")
}

// ofStreams reports whether a variable names files that srun itself reads or writes. The job's machine does not get to choose those here.
func ofStreams(e string) bool {
	name, _, _ := strings.Cut(e, "=")
	name, _, _ = strings.Cut(name, "_HET_GROUP_")
	return slices.Contains([]string{"SLURM_STDINMODE", "SLURM_STDOUTMODE", "SLURM_STDERRMODE", "SLURM_OPEN_MODE", "SLURM_MULTI_PROG"}, name)
}

// outside is a connection to the step service of a job, for a process that is none of it.
type outside struct {
	io.ReadWriteCloser
	in   *bufio.Reader
	info wire.JobInfo
}

// Read implements io.Reader.
func (o *outside) Read(p []byte) (int, error) { return o.in.Read(p) }

// notIn says why there is no way into a job, and returns the exit code.
func notIn(job string, err error, stderr io.Writer) int {
	fmt.Fprintf(stderr, "srun: error: Unable to confirm allocation for job %s: %s\n", job, err)
	return 1
}

// open connects to a job's step service, or says which srun of its site is to be called instead.
func open(job string, c *conn.Conn) (*outside, *siteSrun, error) {
	if job == "" || strings.Trim(job, "0123456789") != "" {
		return nil, nil, fmt.Errorf("invalid job ID %q: want the job's own number, of an array's task too (squeue -O JobID)", job)
	}
	status, reply, t, err := c.Upgrade("/fed/v1/job/"+job+"/tunnel", protocol)
	switch {
	case err != nil:
		return nil, nil, err
	case t == nil && status == 200:
		site, err := readSiteSrun(reply, c)
		return nil, site, err
	case t == nil:
		return nil, nil, show.Refusal(reply)
	}
	o := &outside{ReadWriteCloser: t, in: bufio.NewReaderSize(t, 64<<10)}
	f, err := wire.NewReader(o.in).Read()
	if err == nil && f.Kind != wire.Job {
		err = fmt.Errorf("the job's machine began with a frame of kind %d", f.Kind)
	}
	if err == nil {
		o.info, err = wire.JSON[wire.JobInfo](f)
	}
	if err != nil {
		t.Close()
		return nil, nil, err
	}
	return o, nil, nil
}

// session is one for a step of the job, which env describes.
func (o *outside) session(job string, env []string, stdin *os.File, stdout, stderr io.Writer) *session {
	return &session{env: env, stdin: stdin, stdout: stdout, stderr: stderr, lost: "the connection to job " + job + " is lost, and its step ends",
		dial: func() (io.ReadWriteCloser, error) { return o, nil }}
}

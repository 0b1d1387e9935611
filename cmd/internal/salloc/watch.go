package salloc

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/srun"
)

// watch tells when the job has ended.
func (a *allocation) watch(env []string) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		c := conn.FromEnv(env) // the other one is not for concurrent use
		c.SetTimeout(90 * time.Second)
		defer c.Close()
		for {
			status, _, err := c.Do("GET", "/fed/v1/job/"+a.id+"/wait", nil)
			switch {
			case err == nil && status == 200:
				close(ended)
				return
			case err != nil || status != 204:
				time.Sleep(time.Second)
			}
		}
	}()
	return ended
}

// watchWord has this program wait for the end of an srun, as its child.
const watchWord = "--fed-watch"

// watched is the job whose srun this process is to wait for.
func watched(args []string) (job string, ok bool) {
	if len(args) == 2 && args[0] == watchWord {
		return args[1], true
	}
	return "", false
}

// endWithMe has the job end when this process does, however that is: a child sees the end of a pipe. over ends the child.
func (a *allocation) endWithMe(env []string) (over func()) {
	r, w, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	cmd := exec.Command("/proc/self/exe", watchWord, a.id)
	cmd.Args[0] = "srun"
	cmd.Env, cmd.Stdin = env, r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what the terminal sends is not for it
	err = cmd.Start()
	r.Close()
	if err != nil {
		w.Close()
		return func() {}
	}
	return func() {
		w.Write([]byte{1})
		w.Close()
		cmd.Wait()
	}
}

// keepWatch cancels the job when the process at the other end of stdin is gone without a word.
func keepWatch(job string, c *conn.Conn) int {
	var word [1]byte
	if n, _ := os.Stdin.Read(word[:]); n > 0 {
		return 0
	}
	a := &allocation{name: "srun", c: c, stderr: os.Stderr, quiet: true, id: job}
	a.cancel()
	return 0
}

// environment is what commands of salloc are told of their job, beside env.
func (a *allocation) environment(env []string) ([]string, error) {
	given, err := srun.Environment(a.id, a.c)
	if err != nil {
		return nil, err
	}
	return append(withoutJob(env), allocated(&a.job, given)...), nil
}

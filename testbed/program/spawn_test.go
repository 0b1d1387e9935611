package program

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// A process lives on when threads of this one end, as those do whose goroutine has locked them.
func TestSpawnOutlivesThreads(t *testing.T) {
	var cmds []*exec.Cmd
	for range 8 {
		cmd := exec.Command("sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := Spawn(cmd); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			runtime.LockOSThread() // and never unlocked
		})
	}
	wg.Wait()
	for _, cmd := range cmds {
		var ws syscall.WaitStatus
		if pid, err := syscall.Wait4(cmd.Process.Pid, &ws, syscall.WNOHANG, nil); err != nil || pid != 0 {
			t.Errorf("a process has ended: %v, %v", ws, err)
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
}

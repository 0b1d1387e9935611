package program

import (
	"os/exec"
	"runtime"
	"sync"
)

// Spawn starts a process with Pdeathsig. The signal comes when the thread that started it ends, not the process: a goroutine that ends with its thread locked takes that thread
// along, whatever ran on it before. So all are started by one thread, which stays.
func Spawn(cmd *exec.Cmd) error {
	done := make(chan error)
	spawner() <- func() { done <- cmd.Start() }
	return <-done
}

var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

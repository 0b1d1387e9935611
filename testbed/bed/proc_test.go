package bed

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestProcID(t *testing.T) {
	self, err := identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !self.alive() {
		t.Error("this very process is not alive")
	}
	if age := time.Since(self.startedAt()); age < -time.Second || age > 24*time.Hour {
		t.Errorf("this process is %v old", age)
	}
	for name, change := range map[string]func(*procID){
		"another start": func(p *procID) { p.Start++ }, "another boot": func(p *procID) { p.Boot = "x" }, "no process": func(p *procID) { p.PID = 0 },
	} {
		other := self
		change(&other)
		if other.alive() {
			t.Errorf("%s: alive", name)
		}
	}
}

func TestZombieIsNotAlive(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !id.alive() {
		t.Error("a running child is not alive")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); id.alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a killed child that nobody waited for counts as alive")
		}
	}
	if id.gone() {
		t.Error("a zombie counts as gone")
	}
	cmd.Wait()
	if !id.gone() {
		t.Error("a child that was waited for is not gone")
	}
}

package agent

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fsub/cloud/agentapi"
)

// A job whose files cannot be opened, or take nothing, is ended all the same, and holds up nobody.
func TestHangingFiles(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	for name, c := range map[string]struct {
		script string
		more   func(l *agentapi.Launch, fifo string)
		begins bool
	}{
		"output": {"true", func(l *agentapi.Launch, fifo string) { l.Groups[0].Spec.Output = fifo }, false},
		"input":  {"true", func(l *agentapi.Launch, fifo string) { l.Groups[0].Spec.Input = fifo }, false},
		"error": {"head -c 65536 /dev/zero >&2; touch began; while :; do sleep 0.01; done", func(l *agentapi.Launch, fifo string) {
			l.Groups[0].Spec.Error = fifo
			f, err := os.OpenFile(fifo, os.O_RDWR, 0) // a reader that reads nothing
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o666); err != nil {
				t.Fatal(err)
			}
			dir := d.launch(name, c.script, func(l *agentapi.Launch) { c.more(l, fifo) })
			d.await("the run is there", func() bool { return d.told[name].State != "" })
			if c.begins {
				awaitFile(t, filepath.Join(dir, "began"))
			}
			d.orderRun(name, func(o *agentapi.Order) {
				o.Stop = &agentapi.Stop{Why: agentapi.WhyCancel, Grace: 100 * time.Millisecond}
			})
			if s := d.awaitEnd(name); s.Why != agentapi.WhyCancel {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A run that nothing can end does not keep the machine forever.
func TestUnkillable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Agent{log: logger(t), runs: map[string]*run{}}
		a.runs["r1"] = a.newRun(&agentapi.Launch{Run: "r1", KillWait: 30 * time.Second})
		began := time.Now()
		a.waitRuns()
		if waited := time.Since(began); waited < 30*time.Second || waited > 10*time.Minute {
			t.Errorf("it waited %s", waited)
		}
	})
}

// What is too large to be told at once is told run by run.
func TestLargeReport(t *testing.T) {
	d := newFakeServer(t)
	a := startAgent(t, d, nil)
	d.await("it is in", func() bool { return len(d.hellos) > 0 })
	d.set(func() { d.single = true })
	for _, name := range []string{"r1", "r2", "r3"} {
		a.news.mu.Lock()
		a.news.serial++
		a.news.runs[name] = told{a.news.serial, agentapi.Status{Run: name, State: agentapi.RunEnded}}
		a.news.mu.Unlock()
	}
	a.news.wake()
	for _, name := range []string{"r1", "r2", "r3"} {
		d.awaitEnd(name)
	}
	if d.refused == 0 {
		t.Error("they were never told together")
	}
}

// A profile that prints without end does not fill the agent's memory.
func TestLoginSaysTooMuch(t *testing.T) {
	u := me()
	u.Home = t.TempDir()
	if err := os.WriteFile(filepath.Join(u.Home, ".bash_profile"), []byte("head -c 100000000 /dev/zero\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if env, err := loginBy(u, nil, "/bin/bash", "-l", "-c", tellLogin); err == nil {
		t.Errorf("it told %d variables", len(env))
	}
}

// A user without a home gets none.
func TestNoHome(t *testing.T) {
	if _, err := os.Stat(noHome); err == nil {
		t.Fatalf("%s is there", noHome)
	}
	if err := makeUser(t.TempDir(), agentapi.User{Name: "nobody", UID: 65534, GID: 65534, Home: noHome}, true); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(noHome); err == nil {
		os.Remove(noHome)
		t.Errorf("%s was made", noHome)
	}
}

// A run's commands have so many connections and no more, and room is made when one ends.
func TestMaxConns(t *testing.T) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	o := newOwned(l, uint32(os.Getuid()))
	var in []net.Conn
	for range maxConns {
		c, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, err := o.Accept()
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, s)
	}
	if len(o.room) != cap(o.room) {
		t.Fatalf("%d of %d are counted", len(o.room), cap(o.room))
	}
	for _, c := range in {
		c.Close()
		c.Close() // net/http may
	}
	if len(o.room) != 0 {
		t.Errorf("%d are counted still", len(o.room))
	}
	l.Close()
	if _, err := o.Accept(); err == nil || len(o.room) != 0 {
		t.Errorf("a closed one: %v, %d are counted", err, len(o.room))
	}
}

// A machine that ends does not ask without pause for orders that it does not carry out.
func TestEndingAsksSeldom(t *testing.T) {
	d := newFakeServer(t)
	a := startAgent(t, d, nil)
	dir := d.launch("r1", "trap '' TERM; touch began; while :; do sleep 0.01; done", func(l *agentapi.Launch) { l.KillWait = time.Second })
	awaitFile(t, filepath.Join(dir, "began"))
	a.endMachine("the test", agentapi.WhyNode)
	before := 0
	d.set(func() { before, d.eager = d.polls, true }) // not sooner: until its end it asks again at once
	<-a.done
	if n := d.polls - before; n > 100 {
		t.Errorf("it asked %d times", n)
	}
}

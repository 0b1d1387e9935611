package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/local/inside"
	"fsub/cloud/provider"
)

func TestDeleteEndsAllProcesses(t *testing.T) {
	p := world(t, nil)
	got := create(t, p, request("G1", 1))
	seen(t, p, got[0].ID)
	if n := len(processes(p.cfg.Dir)); n < 2 {
		t.Fatalf("%d processes, want the agent and the one that it left behind", n)
	}
	next := open(t, p.cfg.Dir, nil) // a daemon that is not their parent
	ids := []provider.InstanceID{"G1.0", "G1.7", "unknown", "unknown.0"}
	for range 2 {
		if err := next.Delete(context.Background(), ids); err != nil {
			t.Fatal(err)
		}
	}
	checkNothingLeft(t, next)
	if s := states(list(t, next)); s != "G1.0 ended" {
		t.Error(s)
	}
}

func TestKilledAgentTakesTheMachine(t *testing.T) {
	p := world(t, nil)
	got := create(t, p, request("G1", 1))
	seen(t, p, got[0].ID)
	for _, link := range processes(p.cfg.Dir) {
		if strings.Contains(link, "-boot") {
			var pid int
			_, _ = fmt.Sscanf(link, "/proc/%d/cwd", &pid)
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	eventually(t, "the machine is ended", func() bool { return states(list(t, p)) == "G1.0 ended" })
	checkNothingLeft(t, p)
}

func TestAgentThatEndsSaysWhy(t *testing.T) {
	p := world(t, nil)
	r := request("G1", 1)
	r.Boot.URL = "fail"
	create(t, p, r)
	eventually(t, "the machine is ended", func() bool { return states(list(t, p)) == "G1.0 ended" })
	if got := list(t, p)[0].Reason; !strings.Contains(got, "it went wrong") {
		t.Errorf("reason %q", got)
	}
}

// TestAgentThatIsNone: what ends before it is an agent is a machine that has ended, on whatever network.
func TestAgentThatIsNone(t *testing.T) {
	agent := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(agent, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := world(t, nil)
	p.host.agent = agent
	for n := range 10 {
		create(t, p, request(fmt.Sprintf("G%d", n), 2))
	}
	eventually(t, "the machines are ended", func() bool {
		return !strings.Contains(states(list(t, p)), "running")
	})
}

// TestWithoutNamespaces is what is left where the kernel allows none.
func TestWithoutNamespaces(t *testing.T) {
	p := world(t, func(c *Config) { c.NoNamespaces = true })
	got := create(t, p, request("G1", 1))
	host, _ := os.Hostname()
	if s := seen(t, p, got[0].ID); !strings.HasPrefix(s, host+" ") {
		t.Errorf("the machine saw %q", s)
	}
	for _, link := range processes(p.cfg.Dir) {
		if strings.Contains(link, "-boot") {
			var pid int
			_, _ = fmt.Sscanf(link, "/proc/%d/cwd", &pid)
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	eventually(t, "the machine is ended", func() bool { return states(list(t, p)) == "G1.0 ended" })
	checkNothingLeft(t, p)
	got = create(t, p, request("G2", 1))
	seen(t, p, got[0].ID)
	if err := p.Delete(context.Background(), []provider.InstanceID{got[0].ID}); err != nil {
		t.Fatal(err)
	}
	checkNothingLeft(t, p)
}

func TestEndedGangsAreForgotten(t *testing.T) {
	p := world(t, nil)
	got := create(t, p, request("G1", 1))
	if err := p.Delete(context.Background(), []provider.InstanceID{got[0].ID}); err != nil {
		t.Fatal(err)
	}
	p.cfg.Now = func() time.Time { return time.Now().Add(2 * keepEnded) }
	list(t, p)
	if all := list(t, p); len(all) != 0 {
		t.Error(states(all))
	}
	if left, _ := filepath.Glob(filepath.Join(p.cfg.Dir, "gangs", "*")); len(left) > 0 {
		t.Error(left)
	}
}

// TestNumbersThatComeAgain: a process that has the number of a machine's, or had it before the host was started anew, is not the machine and is left alone.
func TestNumbersThatComeAgain(t *testing.T) {
	p := world(t, nil)
	me, err := inside.Look(os.Getpid())
	if err != nil || !me.Alive() {
		t.Fatalf("%v: %v", me, err)
	}
	later, otherBoot := me, me
	later.Start++
	otherBoot.Boot = "another"
	shape, err := p.check(request("G1", 2))
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.record(request("G1", 2), shape)
	if err != nil {
		t.Fatal(err)
	}
	for i, proc := range []inside.Process{later, otherBoot} {
		dir := p.host.dir(g.Machines[i].ID)
		if err := os.MkdirAll(dir, 0o711); err != nil {
			t.Fatal(err)
		}
		if err := inside.Claim(dir, proc.String()); err != nil {
			t.Fatal(err)
		}
		if err := inside.Claim(dir, me.String()); !errors.Is(err, inside.ErrClaimed) {
			t.Errorf("a second claim: %v", err)
		}
	}
	if err := p.Delete(t.Context(), []provider.InstanceID{"G1.0"}); err != nil { // it would have killed this test
		t.Fatal(err)
	}
	if s := states(list(t, p)); s != "G1.0 ended, G1.1 ended" {
		t.Error(s)
	}
}

// TestDeleteBesideCreate: whichever comes first, what was deleted does not live in the end, and the record says so.
func TestDeleteBesideCreate(t *testing.T) {
	p := world(t, nil)
	for n := range 20 {
		r := request(fmt.Sprintf("G%d", n), 2)
		id := provider.InstanceID(r.Token + ".1")
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := p.Create(context.Background(), r); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			for g := (*gang)(nil); g == nil; {
				g, _ = p.gangs.find(id)
			}
			if err := p.Delete(context.Background(), []provider.InstanceID{id}); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		got := create(t, p, r)
		if s := states(got); s != fmt.Sprintf("%s.0 running, %s.1 ended", r.Token, r.Token) {
			t.Error(s)
		}
		if left := processes(p.host.dir(id)); len(left) > 0 {
			t.Errorf("processes left: %v", left)
		}
	}
}

// TestDirectoriesThatADeadProviderLeft: of a machine that is ended, and of none.
func TestDirectoriesThatADeadProviderLeft(t *testing.T) {
	p := world(t, nil)
	create(t, p, request("G1", 1))
	if err := p.Delete(context.Background(), []provider.InstanceID{"G1.0"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []provider.InstanceID{"G1.0", "G7.3"} {
		if err := os.MkdirAll(p.host.dir(id), 0o711); err != nil {
			t.Fatal(err)
		}
	}
	checkNothingLeft(t, open(t, p.cfg.Dir, nil))
}

// TestEndedByAnother: a machine that another program has ended, as fed pool clear does, is gone at the next look of the provider that made it.
func TestEndedByAnother(t *testing.T) {
	p := world(t, nil)
	create(t, p, request("G1", 2))
	eventually(t, "both run", func() bool { return states(list(t, p)) == "G1.0 running, G1.1 running" })
	if err := open(t, p.cfg.Dir, nil).Delete(context.Background(), []provider.InstanceID{"G1.0"}); err != nil {
		t.Fatal(err)
	}
	all := list(t, p)
	if s := states(all); s != "G1.0 ended, G1.1 running" || all[0].Reason != "its directory is gone: another program has ended it" {
		t.Errorf("%s: %q", s, all[0].Reason)
	}
}

// TestDirectoryLikeAPattern: its name means itself.
func TestDirectoryLikeAPattern(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*?")
	p := open(t, dir, func(c *Config) { c.Network = NetworkHost })
	g, err := p.record(request("G1", 1), Shape{})
	if err != nil {
		t.Fatal(err)
	}
	next := open(t, dir, func(c *Config) { c.Network = NetworkHost })
	if s := states(list(t, next)); s != "G1.0 pending" {
		t.Errorf("the next provider finds %q of gang %s", s, g.Token)
	}
}

// TestNothingIsBroughtBack: who clears away makes nothing where somebody removes all of it.
func TestNothingIsBroughtBack(t *testing.T) {
	p := world(t, nil)
	for name, f := range map[string]func() error{
		"a machine's end": func() error { return p.host.stop(&machine{ID: "G1.0"}) },
		"the owners' lock": func() error {
			if err := os.Remove(filepath.Join(p.cfg.Dir, inside.OwnersFile)); err != nil {
				return err
			}
			if f, err := own(p.cfg.Dir, unix.LOCK_EX); !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("it has %v, %v", f, err)
			}
			return nil
		},
	} {
		if err := f(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, path := range []string{p.host.dir("G1.0"), filepath.Join(p.cfg.Dir, inside.OwnersFile)} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s was made: %v", path, err)
		}
	}
}

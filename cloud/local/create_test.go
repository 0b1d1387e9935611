package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fsub/cloud/local/lan"
	"fsub/cloud/provider"
	"fsub/federation"
)

func TestMachinesAreOfTheirOwn(t *testing.T) {
	p := world(t, nil)
	if !p.host.isolation.Mounts || !p.host.isolation.Names || !p.host.isolation.Processes {
		t.Skipf("SKIPPED: namespaces cannot be made here: %+v", p.host.isolation)
	}
	got := create(t, p, request("G1", 2))
	if s := states(got); s != "G1.0 running, G1.1 running" {
		t.Fatal(s)
	}
	caps := "0000000000000000"
	if os.Geteuid() == 0 {
		caps = capEffOf(t)
	}
	for n, i := range got {
		wrote := "" // each writes its own name, and looks for the first's
		if n == 0 {
			wrote = "127.9.9.9"
		}
		want := fmt.Sprintf("%s [%s] %s %d <nil> %s", i.Name, wrote, i.Addr, os.Getuid(), caps)
		if s := seen(t, p, i.ID); s != want {
			t.Errorf("machine %d saw %q, want %q", n, s, want)
		}
	}
	if host, _ := os.Hostname(); host == got[0].Name {
		t.Error("the host's own name was changed")
	}
	if hosts, _ := os.ReadFile("/etc/hosts"); strings.Contains(string(hosts), got[0].Name) {
		t.Error("the host's own /etc/hosts was changed")
	}
}

// TestSharedMemoryIsAMachines: what one machine has in /dev/shm no other sees, nor the host; /tmp is the host's.
func TestSharedMemoryIsAMachines(t *testing.T) {
	p := world(t, nil)
	if !p.host.isolation.Mounts {
		t.Skipf("SKIPPED: namespaces cannot be made here: %+v", p.host.isolation)
	}
	all := map[string]bool{deviceOf("/dev/shm"): true}
	for _, i := range create(t, p, request("G1", 2)) {
		seen(t, p, i.ID)
		text, err := os.ReadFile(filepath.Join(p.host.dir(i.ID), "mounts"))
		if err != nil {
			t.Fatal(err)
		}
		shm, tmp, _ := strings.Cut(string(text), " ")
		if all[shm+" "] || !strings.HasPrefix(shm, "/dev/shm=41777@") {
			t.Errorf("%s has %s, and the host and others have %v", i.ID, shm, all)
		}
		all[shm+" "] = true
		if strings.TrimSpace(tmp) != strings.TrimSpace(deviceOf("/tmp")) {
			t.Errorf("%s has %s, and the host %s", i.ID, tmp, deviceOf("/tmp"))
		}
	}
	if len(all) != 3 {
		t.Error(all)
	}
}

func capEffOf(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	return capEff(string(text))
}

func TestCreateIsIdempotent(t *testing.T) {
	p := world(t, nil)
	for _, i := range create(t, p, request("G1", 2)) {
		seen(t, p, i.ID) // what it has to start it has started
	}
	before := processes(p.cfg.Dir)
	for range 2 {
		if s := states(create(t, p, request("G1", 2))); s != "G1.0 running, G1.1 running" {
			t.Fatal(s)
		}
		p = open(t, p.cfg.Dir, nil)
	}
	if after := processes(p.cfg.Dir); len(after) < len(before) || len(list(t, p)) != 2 {
		t.Errorf("before %v\nafter %v", before, after)
	}
	_, err := p.Create(context.Background(), request("G1", 3))
	wants(t, err, provider.KindConflict, federation.ErrConflict)
	if err := p.Delete(context.Background(), []provider.InstanceID{"G1.1"}); err != nil {
		t.Fatal(err)
	}
	if s := states(create(t, p, request("G1", 2))); s != "G1.0 running, G1.1 ended" {
		t.Errorf("after one was deleted: %s", s)
	}
}

func wants(t *testing.T, err error, kind provider.ErrorKind, is error) {
	t.Helper()
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != kind || !errors.Is(err, is) {
		t.Errorf("error %v, want kind %s and %q", err, kind, is)
	}
}

func TestCreateRefuses(t *testing.T) {
	p := world(t, nil)
	bad := request("G1", 1)
	bad.Offering.ID = "huge/on-demand"
	_, err := p.Create(context.Background(), bad)
	wants(t, err, provider.KindInvalid, federation.ErrInvalid)
	for _, token := range []string{"", "../x", "a b", strings.Repeat("x", 65)} {
		_, err := p.Create(context.Background(), request(token, 1))
		wants(t, err, provider.KindInvalid, federation.ErrInvalid)
	}
	one := request("G2", 1)
	one.Offering.ID = "one/spot"
	create(t, p, one)
	one.Token = "G3"
	_, err = p.Create(context.Background(), one)
	wants(t, err, provider.KindStockOut, federation.ErrCapacity)
	// A place falls free as soon as its machine is gone, seen or not.
	g, m := p.gangs.find("G2.0")
	proc, _, err := p.host.process(&m)
	if err != nil || g == nil {
		t.Fatal(err)
	}
	if err := p.host.kill(proc); err != nil {
		t.Fatal(err)
	}
	create(t, p, one)
}

// TestCrashBeforeTheStart: what a provider that died has recorded and not started is pending, and is started by the next Create or never.
func TestCrashBeforeTheStart(t *testing.T) {
	p := world(t, nil)
	for p.net.own { // machines of what is recorded below cannot move aside for another network of this host
		if err := p.net.lan.Ensure(); err == nil {
			break
		} else if !errors.Is(err, lan.ErrMoved) {
			t.Fatal(err)
		}
	}
	shape, err := p.check(request("G1", 3))
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.record(request("G1", 3), shape)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.net.ready(g.Machines), p.host.start(&g.Machines[1], request("G1", 3))); err != nil {
		t.Fatal(err)
	}
	next := open(t, p.cfg.Dir, nil)
	if s := states(list(t, next)); s != "G1.0 pending, G1.1 running, G1.2 pending" {
		t.Fatal(s)
	}
	if err := next.Delete(context.Background(), []provider.InstanceID{"G1.0"}); err != nil {
		t.Fatal(err)
	}
	if s := states(create(t, next, request("G1", 3))); s != "G1.0 ended, G1.1 running, G1.2 running" {
		t.Fatal(s)
	}
}

// TestForgottenBesideCreate: who waits for another to start the same gang, which fails, starts a new one.
func TestForgottenBesideCreate(t *testing.T) {
	p := world(t, nil)
	r := request("G1", 1)
	shape, err := p.check(r)
	if err != nil {
		t.Fatal(err)
	}
	old, err := p.claim(r, shape)
	if err != nil {
		t.Fatal(err)
	}
	old.life.Unlock()
	old.life.RLock()
	made := make(chan *gang)
	go func() {
		g, err := p.make(r, shape)
		if err != nil {
			t.Error(err)
		}
		made <- g
	}()
	eventually(t, "it waits", func() bool {
		free := old.life.TryRLock()
		if free {
			old.life.RUnlock()
		}
		return !free
	})
	p.abandon(old)
	create(t, p, r)
	p.gangs.mu.Lock()
	err = p.gangs.forget(old) // it is not the one of that token
	p.gangs.mu.Unlock()
	if _, lost := os.Stat(p.gangs.file("G1")); err != nil || lost != nil {
		t.Errorf("with the old gang the new one was forgotten: %v, %v", err, lost)
	}
	old.life.RUnlock()
	if g := <-made; g == nil || g == old || !p.gangs.known(g) {
		t.Errorf("it made %v, and not the gang that is known", g)
	}
}

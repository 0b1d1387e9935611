package local

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud"
	"fsub/cloud/local/inside"
	"fsub/federation"
)

// The test's own binary is the agent of its machines: it writes down what it sees, leaves a process behind in a session of its own, and waits.
func TestMain(m *testing.M) {
	inside.Main()
	if len(os.Args) == 3 && os.Args[1] == "-boot" {
		os.Exit(agent(os.Args[2]))
	}
	flag.Parse()
	os.Exit(m.Run())
}

func agent(file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_ = os.Remove(file)
	boot, err := cloud.ParseBoot(text)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if boot.URL == "fail" {
		fmt.Println("agent: it went wrong")
		return 1
	}
	orphan := exec.Command("sh", "-c", "setsid sleep 987654 & exit 0")
	_ = orphan.Run()
	host, _ := os.Hostname()
	var hosts []byte
	if boot.Hosts != "" { // else it is the host's
		_ = os.WriteFile(boot.Hosts, []byte("127.9.9.9 "+host+"\n"), 0) // in place: it is a mount
		hosts, _ = os.ReadFile("/etc/hosts")
	}
	_, procErr := os.Stat("/proc/self/stat")
	caps, _ := os.ReadFile("/proc/thread-self/status")
	seen := fmt.Sprintf("%s %v %v %d %v %s", host, addrsOf(string(hosts), boot.Token), boot.Addr, os.Getuid(), procErr, capEff(string(caps)))
	_ = os.WriteFile("seen.new", []byte(seen), 0o600)
	_ = os.Rename("seen.new", "seen")
	select {
	case <-time.After(10 * time.Minute): // a test that died
	}
	return 0
}

// addrsOf finds a name in a hosts file.
func addrsOf(hosts, name string) (out []string) {
	for line := range strings.Lines(hosts) {
		if f := strings.Fields(line); len(f) > 1 && slices.Contains(f[1:], name) {
			out = append(out, f[0])
		}
	}
	return out
}

func capEff(status string) string {
	for line := range strings.Lines(status) {
		if caps, ok := strings.CutPrefix(line, "CapEff:"); ok {
			return strings.TrimSpace(caps)
		}
	}
	return ""
}

func open(t *testing.T, dir string, change func(*Config)) *Provider {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Dir: dir, Agent: self, Shapes: []Shape{{Type: "small", CPUs: 1, Mem: 100, Max: 100}, {Type: "one", CPUs: 1, Mem: 100, Price: 2, Market: cloud.Spot, Max: 1}}}
	if change != nil {
		change(&c)
	}
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// world is a provider that leaves nothing when the test ends.
func world(t *testing.T, change func(*Config)) *Provider {
	t.Helper()
	dir, err := os.MkdirTemp("", "local")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := open(t, dir, change)
	t.Cleanup(func() {
		var ids []cloud.InstanceID
		for _, i := range list(t, p) {
			ids = append(ids, i.ID)
		}
		if err := p.Delete(context.Background(), ids); err != nil {
			t.Error(err)
		}
		checkNothingLeft(t, p)
	})
	return p
}

// checkNothingLeft looks for processes whose directory is below the provider's, and for directories of machines.
func checkNothingLeft(t *testing.T, p *Provider) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(p.cfg.Dir, "machines", "*")); len(left) > 0 {
		t.Errorf("directories left: %v", left)
	}
	if left := processes(p.cfg.Dir); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

// processes finds those that work below dir.
func processes(dir string) []string {
	var out []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, dir) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			out = append(out, link+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return out
}

func request(token string, n int) cloud.Request {
	r := cloud.Request{Token: token, Site: "local", Offering: cloud.Offering{ID: "small/on-demand"}, Count: n}
	for i := range n {
		r.Names = append(r.Names, fmt.Sprintf("local-%s-%d", strings.ToLower(token), i))
	}
	r.Boot = cloud.Boot{URL: "unix:/nowhere", Token: r.Names[0], Lease: time.Minute}
	return r
}

func create(t *testing.T, p *Provider, r cloud.Request) []cloud.Instance {
	t.Helper()
	got, err := p.Create(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func list(t *testing.T, p *Provider) []cloud.Instance {
	t.Helper()
	got, err := p.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func states(all []cloud.Instance) string {
	var out []string
	for _, i := range all {
		out = append(out, string(i.ID)+" "+string(i.State))
	}
	return strings.Join(out, ", ")
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

func seen(t *testing.T, p *Provider, id cloud.InstanceID) string {
	t.Helper()
	var text []byte
	eventually(t, "machine "+string(id)+" has begun", func() (ok bool) {
		var err error
		text, err = os.ReadFile(filepath.Join(p.dir(id), "seen"))
		return err == nil
	})
	return string(text)
}

func TestMachinesAreOfTheirOwn(t *testing.T) {
	p := world(t, nil)
	if !p.isolation.Mounts || !p.isolation.Names || !p.isolation.Processes {
		t.Skipf("SKIPPED: namespaces cannot be made here: %+v", p.isolation)
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
	create(t, p, request("G1", 2))
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
	wants(t, err, cloud.KindConflict, federation.ErrConflict)
	if err := p.Delete(context.Background(), []cloud.InstanceID{"G1.1"}); err != nil {
		t.Fatal(err)
	}
	if s := states(create(t, p, request("G1", 2))); s != "G1.0 running, G1.1 ended" {
		t.Errorf("after one was deleted: %s", s)
	}
}

func wants(t *testing.T, err error, kind cloud.ErrorKind, is error) {
	t.Helper()
	var e *cloud.Error
	if !errors.As(err, &e) || e.Kind != kind || !errors.Is(err, is) {
		t.Errorf("error %v, want kind %s and %q", err, kind, is)
	}
}

func TestCreateRefuses(t *testing.T) {
	p := world(t, nil)
	bad := request("G1", 1)
	bad.Offering.ID = "huge/on-demand"
	_, err := p.Create(context.Background(), bad)
	wants(t, err, cloud.KindInvalid, federation.ErrInvalid)
	for _, token := range []string{"", "../x", "a b", strings.Repeat("x", 65)} {
		_, err := p.Create(context.Background(), request(token, 1))
		wants(t, err, cloud.KindInvalid, federation.ErrInvalid)
	}
	one := request("G2", 1)
	one.Offering.ID = "one/spot"
	create(t, p, one)
	one.Token = "G3"
	_, err = p.Create(context.Background(), one)
	wants(t, err, cloud.KindStockOut, federation.ErrCapacity)
	// A place falls free as soon as its machine is gone, seen or not.
	g, m := p.find("G2.0")
	proc, _, err := p.process(&m)
	if err != nil || g == nil {
		t.Fatal(err)
	}
	if err := p.kill(proc); err != nil {
		t.Fatal(err)
	}
	create(t, p, one)
}

// TestCrashBeforeTheStart: what a provider that died has recorded and not started is pending, and is started by the next Create or never.
func TestCrashBeforeTheStart(t *testing.T) {
	p := world(t, nil)
	shape, err := p.check(request("G1", 3))
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.record(request("G1", 3), shape)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.start(&g.Machines[1], request("G1", 3)); err != nil {
		t.Fatal(err)
	}
	next := open(t, p.cfg.Dir, nil)
	if s := states(list(t, next)); s != "G1.0 pending, G1.1 running, G1.2 pending" {
		t.Fatal(s)
	}
	if err := next.Delete(context.Background(), []cloud.InstanceID{"G1.0"}); err != nil {
		t.Fatal(err)
	}
	if s := states(create(t, next, request("G1", 3))); s != "G1.0 ended, G1.1 running, G1.2 running" {
		t.Fatal(s)
	}
}

func TestDeleteEndsAllProcesses(t *testing.T) {
	p := world(t, nil)
	got := create(t, p, request("G1", 1))
	seen(t, p, got[0].ID)
	if n := len(processes(p.cfg.Dir)); n < 2 {
		t.Fatalf("%d processes, want the agent and the one that it left behind", n)
	}
	next := open(t, p.cfg.Dir, nil) // a daemon that is not their parent
	ids := []cloud.InstanceID{"G1.0", "G1.7", "unknown", "unknown.0"}
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
	if err := p.Delete(context.Background(), []cloud.InstanceID{got[0].ID}); err != nil {
		t.Fatal(err)
	}
	checkNothingLeft(t, p)
}

func TestEndedGangsAreForgotten(t *testing.T) {
	p := world(t, nil)
	got := create(t, p, request("G1", 1))
	if err := p.Delete(context.Background(), []cloud.InstanceID{got[0].ID}); err != nil {
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
		dir := p.dir(g.Machines[i].ID)
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
	if err := p.Delete(t.Context(), []cloud.InstanceID{"G1.0"}); err != nil { // it would have killed this test
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
		id := cloud.InstanceID(r.Token + ".1")
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := p.Create(context.Background(), r); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			for g := (*gang)(nil); g == nil; {
				g, _ = p.find(id)
			}
			if err := p.Delete(context.Background(), []cloud.InstanceID{id}); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		got := create(t, p, r)
		if s := states(got); s != fmt.Sprintf("%s.0 running, %s.1 ended", r.Token, r.Token) {
			t.Error(s)
		}
		if left := processes(p.dir(id)); len(left) > 0 {
			t.Errorf("processes left: %v", left)
		}
	}
}

// TestDirectoriesThatADeadProviderLeft: of a machine that is ended, and of none.
func TestDirectoriesThatADeadProviderLeft(t *testing.T) {
	p := world(t, nil)
	create(t, p, request("G1", 1))
	if err := p.Delete(context.Background(), []cloud.InstanceID{"G1.0"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []cloud.InstanceID{"G1.0", "G7.3"} {
		if err := os.MkdirAll(p.dir(id), 0o711); err != nil {
			t.Fatal(err)
		}
	}
	checkNothingLeft(t, open(t, p.cfg.Dir, nil))
}

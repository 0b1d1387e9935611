package steps

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/cloud/agentapi"
	"fsub/cloud/layout"
	"fsub/cloud/steps/wire"
)

// launch is a job of nodes with these CPUs and as many GPUs.
func launch(run string, key byte, cpus ...int) *agentapi.Launch {
	l := &agentapi.Launch{Run: run, Job: 7, Key: bytes.Repeat([]byte{key}, 32), User: agentapi.User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}, Groups: make([]agentapi.Group, 1)}
	for i, c := range cpus {
		n := agentapi.Node{Name: "n" + digits(i+1), CPUs: c, MemMiB: 100}
		for g := range c {
			n.GPUs = append(n.GPUs, 10+g)
		}
		l.Groups[0].Nodes = append(l.Groups[0].Nodes, n)
	}
	return l
}

func newService(t *testing.T) *Service {
	t.Helper()
	s, err := New(Config{Addr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler), Daemon: []string{"/bin/false"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestStrangers: nothing is done for who does not have the gang's key, nor does a node of the gang speak to such a service.
func TestStrangers(t *testing.T) {
	s := newService(t)
	if _, err := s.AddRun(Run{Launch: launch("a", 1, 2), Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	right, _ := newKeys(launch("a", 1).Key, "a")
	other, _ := newKeys(launch("a", 2).Key, "a")
	without := right.config()
	without.Certificates = nil
	foreign := right.config() // who knows the name, but has another key
	foreign.Certificates = other.config().Certificates
	pinned := other.config() // who has another key and takes no other either
	for name, c := range map[string]*tls.Config{
		"no certificate": without, "another key": foreign, "another gang": pinned,
		"no TLS": nil,
	} {
		if answer := ask(t, s.Addr(), c); answer != "" {
			t.Errorf("%s: %q", name, answer)
		}
	}
	if answer := ask(t, s.Addr(), right.config()); answer == "" {
		t.Error("the gang itself gets nothing either")
	}
	gone := newService(t) // the same run, another key: its own gang does not speak to it
	if _, err := gone.AddRun(Run{Launch: launch("a", 2, 2), Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if answer := ask(t, gone.Addr(), right.config()); answer != "" {
		t.Errorf("a service with another key answered %q", answer)
	}
}

// ask sends a request that is refused for a reason of its own, and returns the answer.
func ask(t *testing.T, addr string, c *tls.Config) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	if c != nil {
		conn = tls.Client(conn, c)
	}
	if wire.NewWriter(conn).WriteJSON(wire.Create, 0, wire.Request{Parts: []wire.Part{{Group: 5}}}) != nil {
		return ""
	}
	f, err := wire.NewReader(conn).Read()
	if err != nil {
		return ""
	}
	return string(f.Payload)
}

// TestSocket: the job's socket is its user's alone, and a run is added once.
func TestSocket(t *testing.T) {
	s, dir := newService(t), t.TempDir()
	env, err := s.AddRun(Run{Launch: launch("a", 1, 2), Dir: dir})
	if err != nil || !slices.Equal(env, []string{SocketEnv + "=" + filepath.Join(dir, "steps")}) {
		t.Fatal(env, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "steps")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if _, err := s.AddRun(Run{Launch: launch("a", 1, 2), Dir: t.TempDir()}); err == nil {
		t.Error("the same run was added twice")
	}
	if _, err := s.AddRun(Run{Launch: &agentapi.Launch{Run: "b"}, Dir: t.TempDir()}); err == nil {
		t.Error("a run without nodes was added")
	}
	l := launch("c", 1, 2)
	l.Key = []byte("short")
	if _, err := s.AddRun(Run{Launch: l, Dir: t.TempDir()}); err == nil {
		t.Error("a run with a short key was added")
	}
}

// TestBooks: whatever steps come and go, those that share nothing never hold a CPU, a GPU or memory together, and in the end all is free.
func TestBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := launch("a", 1, rapid.SliceOfN(rapid.IntRange(1, 4), 1, 4).Draw(t, "cpus")...)
		b := newTable(l)
		var live []*step
		for range rapid.IntRange(1, 30).Draw(t, "acts") {
			if len(live) > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				b.end(live[i])
				live = slices.Delete(live, i, i+1)
				continue
			}
			ask := layout.Step{Tasks: rapid.IntRange(0, 6).Draw(t, "n"), Exact: rapid.Bool().Draw(t, "exact"), Overlap: rapid.Bool().Draw(t, "overlap"),
				NoGPUs: rapid.Bool().Draw(t, "no gpus"), MemPerNode: rapid.Int64Range(0, 60).Draw(t, "mem")}
			st := &step{launch: l, req: wire.Request{Parts: slices.Repeat([]wire.Part{{Ask: ask}}, rapid.IntRange(1, 2).Draw(t, "parts"))}}
			if _, err := b.try(st); err == nil {
				live = append(live, st)
			}
			checkTable(t, b, live)
		}
		for _, st := range live {
			b.end(st)
		}
		for _, n := range b.free(0) {
			if n.IdleCPUs != n.CPUs || n.IdleGPUs != n.GPUs || n.IdleMem != n.Mem || n.Steps != 0 {
				t.Fatalf("not all is free: %+v", n)
			}
		}
	})
}

func checkTable(t *rapid.T, b *table, live []*step) {
	type unit struct {
		node, id int
		kind     string
	}
	taken := map[unit]bool{}
	mem := map[int]int64{}
	for _, st := range live {
		for _, s := range st.shares {
			if !s.counted {
				continue
			}
			mem[s.node] += s.part.Mem
			for kind, ids := range map[string][]int{"cpu": s.cpus, "gpu": s.gpus} {
				for _, id := range ids {
					if taken[unit{s.node, id, kind}] {
						t.Fatalf("%s %d of node %d is held twice", kind, id, s.node)
					}
					taken[unit{s.node, id, kind}] = true
				}
			}
		}
	}
	for n, m := range mem {
		if m > b.launch.Groups[0].Nodes[n].MemMiB {
			t.Fatalf("node %d has %d MiB in use", n, m)
		}
	}
}

// TestBinding: which CPUs and GPUs each task of a node has.
func TestBinding(t *testing.T) {
	ask := func(c, gpus int) layout.Step { return layout.Step{CPUsPerTask: c, GPUsPerTask: gpus} }
	for _, c := range []struct {
		cpu, gpu string
		ask      layout.Step
		bound    bool
		cpus     [][]int
		gpus     [][]int
	}{
		{"", "", ask(0, 0), false, [][]int{nil, nil, nil}, [][]int{{4, 5, 7}, {4, 5, 7}, {4, 5, 7}}},
		{"", "", ask(0, 1), true, [][]int{{2, 3, 8, 9}, {2, 3, 8, 9}, {2, 3, 8, 9}}, [][]int{{4}, {5}, {7}}},
		{"none", "none", ask(0, 1), true, [][]int{{2, 3, 8, 9}, {2, 3, 8, 9}, {2, 3, 8, 9}}, [][]int{{4, 5, 7}, {4, 5, 7}, {4, 5, 7}}},
		{"rank", "single:1", ask(0, 0), false, [][]int{{2}, {3}, {8}}, [][]int{{4}, {5}, {7}}},
		{"verbose,cores", "single:2", ask(2, 0), false, [][]int{{2, 3}, {8, 9}, {2, 3}}, [][]int{{4}, {4}, {5}}},
		{"map_cpu:1,0x5", "map_gpu:2,0", ask(2, 0), true, [][]int{{1}, {5}, {1}}, [][]int{{7}, {4}, {7}}},
		{"q,mask_cpu:0x3,F0", "verbose,mask_gpu:3,4", ask(2, 0), true, [][]int{{0, 1}, {4, 5, 6, 7}, {0, 1}}, [][]int{{4, 5}, {7}, {4, 5}}},
		{"threads", "per_task:2", ask(0, 0), true, [][]int{{2}, {3}, {8}}, [][]int{{4, 5}, {4, 5}, {5, 7}}},
	} {
		n := &wire.NodeLaunch{Ranks: []int{0, 1, 2}, CPUIDs: []int{2, 3, 8, 9}, GPUs: []int{4, 5, 7}, Bound: c.bound, Part: wire.Part{Ask: c.ask, CPUBind: c.cpu, GPUBind: c.gpu}}
		if cpus := bindCPUs(n); !reflect.DeepEqual(cpus, c.cpus) {
			t.Errorf("--cpu-bind=%s: %v", c.cpu, cpus)
		}
		if gpus := bindGPUs(n); !reflect.DeepEqual(gpus, c.gpus) {
			t.Errorf("--gpu-bind=%s: %v", c.gpu, gpus)
		}
	}
}

// FuzzFrames: a reader of frames takes whatever comes, and reads what a writer wrote.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x02\x00\x00\x00\x01x"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var again bytes.Buffer
		w, r := wire.NewWriter(&again), wire.NewReader(bytes.NewReader(b))
		for {
			fr, err := r.Read()
			if err != nil {
				break
			}
			if err := w.Write(fr.Kind, fr.N, fr.Payload); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(b, again.Bytes()) {
			t.Errorf("%q became %q", b, again.Bytes())
		}
	})
}

// TestFork: the child has its own number in its environment, its limits, its group and its CPUs; an error is execve's.
func TestFork(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{}
	err = c.set("/bin/sh", []string{"sh", "-c", `test "$SLURM_TASK_PID" = $$ && ulimit -S -n && ps -o pgid= -p $$ | tr -d ' ' | grep -qx $$ && grep Cpus_allowed_list /proc/self/status`},
		[]string{"PATH=" + os.Getenv("PATH"), pidVariable + "0"})
	if err != nil {
		t.Fatal(err)
	}
	null, err := c.open("/dev/null", os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	c.fds, c.cpus, c.limits = [3]int{null, int(w.Fd()), null}, cpuSet([]int{0}), []rlimit{limitOf(wire.Limit{Resource: 7, Soft: 77})}
	pid, err := c.start()
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	text, _ := io.ReadAll(r)
	p, _ := os.FindProcess(pid)
	state, err := p.Wait()
	if err != nil || !state.Success() || strings.Join(strings.Fields(string(text)), " ") != "77 Cpus_allowed_list: 0" {
		t.Errorf("%v %v %q", state, err, text)
	}
	c = &child{}
	c.set("/nosuch", []string{"x"}, nil)
	c.fds = [3]int{null, null, null}
	if _, err := c.start(); err == nil || words(err) != "No such file or directory" {
		t.Error(err)
	}
}

// A virtual environment that a script has entered stays before the commands in PATH of its steps; another machine's folder does not stay at all.
func TestReplaceFolder(t *testing.T) {
	for _, c := range []struct{ path, other, want string }{
		{"/m0/bin:/usr/bin", "/m0/bin", "/m1/bin:/usr/bin"},
		{"/venv/bin:/m0/bin:/usr/bin", "/m0/bin", "/venv/bin:/m1/bin:/usr/bin"},
		{"/venv/bin:/m0/bin:/usr/bin:/m0/bin", "/m0/bin", "/venv/bin:/m1/bin:/usr/bin:/m1/bin"},
		{"/venv/bin:/m1/bin:/usr/bin", "/m1/bin", "/venv/bin:/m1/bin:/usr/bin"},
		{"/usr/bin:/bin", "/m0/bin", "/m1/bin:/usr/bin:/bin"},
		{"/usr/bin::/bin", "", "/m1/bin:/usr/bin::/bin"},
		{"", "/m0/bin", "/m1/bin"},
	} {
		if got := replaceFolder(c.path, c.other, "/m1/bin"); got != c.want {
			t.Errorf("PATH=%s with %q: %s, want %s", c.path, c.other, got, c.want)
		}
	}
}

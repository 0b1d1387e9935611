package local

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/agentapi"
	"fsub/cloud/local/inside"
	"fsub/cloud/provider"
)

// The test's own binary is the agent of its machines: it writes down what it sees, leaves a process behind in a session of its own, and waits.
func TestMain(m *testing.M) {
	inside.Main()
	if len(os.Args) == 3 && os.Args[1] == "-boot" {
		os.Exit(agent(os.Args[2]))
	}
	if len(os.Args) == 3 && daemons[os.Args[1]] != nil {
		if err := daemons[os.Args[1]](os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
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
	boot, err := agentapi.ParseBoot(text)
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
		before, _ := os.ReadFile("/etc/hosts")
		_ = os.WriteFile("hosts.before", before, 0o600)
		_ = os.WriteFile(boot.Hosts, []byte("127.9.9.9 "+host+"\n"), 0) // in place: it is a mount
		hosts, _ = os.ReadFile("/etc/hosts")
	}
	_, procErr := os.Stat("/proc/self/stat")
	caps, _ := os.ReadFile("/proc/thread-self/status")
	seen := fmt.Sprintf("%s %v %v %d %v %s", host, addrsOf(string(hosts), boot.Token), boot.Addr, os.Getuid(), procErr, capEff(string(caps)))
	_ = os.WriteFile("mounts", fmt.Append(nil, deviceOf("/dev/shm"), deviceOf("/tmp")), 0o600)
	_ = os.WriteFile("seen.new", []byte(seen), 0o600)
	_ = os.Rename("seen.new", "seen")
	time.Sleep(10 * time.Minute) // at most, if the test has died
	return 0
}

// deviceOf tells file systems.
func deviceOf(path string) string {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s=%o@%d ", path, st.Mode, st.Dev)
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
	c := Config{Dir: dir, Agent: self, Shapes: []Shape{{Type: "small", CPUs: 1, Mem: 100, Max: 100}, {Type: "one", CPUs: 1, Mem: 100, Price: 2, Market: provider.Spot, Max: 1}}}
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
		var ids []provider.InstanceID
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
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at+"/", dir+"/") {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			out = append(out, link+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return out
}

func request(token string, n int) provider.Request {
	r := provider.Request{Token: token, Site: "local", Offering: provider.Offering{ID: "small/on-demand"}, Count: n}
	for i := range n {
		r.Names = append(r.Names, fmt.Sprintf("local-%s-%d", strings.ToLower(token), i))
	}
	r.Boot = agentapi.Boot{URL: "unix:/nowhere", Token: r.Names[0], Lease: time.Minute}
	return r
}

func create(t *testing.T, p *Provider, r provider.Request) []provider.Instance {
	t.Helper()
	got, err := p.Create(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func list(t *testing.T, p *Provider) []provider.Instance {
	t.Helper()
	got, err := p.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func states(all []provider.Instance) string {
	var out []string
	for _, i := range all {
		out = append(out, string(i.ID)+" "+string(i.State))
	}
	return strings.Join(out, ", ")
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}

func seen(t *testing.T, p *Provider, id provider.InstanceID) string {
	t.Helper()
	var text []byte
	eventually(t, "machine "+string(id)+" has begun", func() (ok bool) {
		var err error
		text, err = os.ReadFile(filepath.Join(p.host.dir(id), "seen"))
		return err == nil
	})
	return string(text)
}

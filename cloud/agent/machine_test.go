package agent

import (
	"crypto/sha256"
	"encoding/base64"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fsub/cloud/agentapi"
)

func TestHosts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts")
	before := "127.0.0.1\tlocalhost\n10.0.0.9 other\n"
	if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	inode := func() uint64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Ino
	}
	first := inode()
	gang := func(run string, names ...string) *agentapi.Launch {
		l := &agentapi.Launch{Run: run, Groups: []agentapi.Group{{}}}
		for _, n := range names {
			l.Groups[0].Nodes = append(l.Groups[0].Nodes, agentapi.Node{Name: n, Addr: "10.1.0." + n[1:]})
		}
		return l
	}
	h := newHosts(path)
	is := func(want string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if d := cmp.Diff(want, string(text)); d != "" || err != nil {
			t.Error(err, d)
		}
	}
	h.add(gang("a", "n1", "n2"))
	is(hostsBegin + "10.1.0.1\tn1\n10.1.0.2\tn2\n" + hostsEnd + before)
	h.add(gang("b", "n1", "n3"))
	is(hostsBegin + "10.1.0.1\tn1\n10.1.0.2\tn2\n10.1.0.3\tn3\n" + hostsEnd + before)
	h.remove("a")
	is(hostsBegin + "10.1.0.1\tn1\n10.1.0.3\tn3\n" + hostsEnd + before)
	h.remove("b")
	is(before)
	if inode() != first {
		t.Error("the file was replaced: a mount would not have been")
	}
}

func TestMakeUser(t *testing.T) {
	dir := t.TempDir()
	passwd, group := filepath.Join(dir, "passwd"), filepath.Join(dir, "group")
	os.WriteFile(passwd, []byte("root:x:0:0:root:/root:/bin/bash\nubuntu:x:1000:1000::/home/ubuntu:/bin/bash\n"), 0o644)
	os.WriteFile(group, []byte("root:x:0:\nlab:x:500:\nubuntu:x:1000:\n"), 0o644)
	alice := agentapi.User{Name: "alice", UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Group: "staff", Groups: []uint32{500, 501}, Home: filepath.Join(dir, "home", "alice"), Shell: "/bin/zsh"}
	if alice.UID == 0 {
		alice.UID, alice.GID = 1000, 1001 // the number that the image has given away
	}
	for range 2 { // the second time there is nothing to do
		if err := makeUser(dir, alice, true); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := os.ReadFile(passwd)
	line, rest, _ := strings.Cut(string(text), "\n")
	if !strings.HasPrefix(line, "alice:x:") || !strings.HasSuffix(line, ":alice:"+alice.Home+":/bin/zsh") || strings.Contains(rest, "alice") {
		t.Errorf("passwd: %s", text)
	}
	text, _ = os.ReadFile(group)
	if got := string(text); strings.Count(got, "staff") != 1 || strings.Count(got, ":500:") != 1 || strings.Count(got, "g501:x:501:alice\n") != 1 {
		t.Errorf("group: %s", got)
	}
	info, err := os.Stat(alice.Home)
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != alice.UID || info.Mode().Perm() != 0o700 {
		t.Errorf("home: %v, %v", info, err)
	}
	if err := makeUser(dir, agentapi.User{Name: "a:b", UID: 5}, true); err == nil {
		t.Error("a name with a colon was taken")
	}
}

// tlsServer is a server that does not print what clients say of it.
func tlsServer(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(quiet{}, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// The server is who has the key; nobody else is told anything.
func TestPinnedServer(t *testing.T) {
	d := newFakeServer(t)
	server := tlsServer(t, d.server.Config.Handler)
	sum := sha256.Sum256(server.Certificate().RawSubjectPublicKeyInfo)
	pin := base64.StdEncoding.EncodeToString(sum[:])
	startAgent(t, d, func(c *Config) { c.Boot.URL, c.Boot.Pin = server.URL, pin })
	d.launch("r1", "exit 4", nil)
	if s := d.awaitEnd("r1"); exitCode(s) != "4:0" {
		t.Errorf("%+v", s)
	}

	said := 0
	liar := tlsServer(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { said++ }))
	sum[0]++
	a := startAgent(t, d, func(c *Config) {
		c.Boot.URL, c.Boot.Pin, c.Boot.Expires = liar.URL, base64.StdEncoding.EncodeToString(sum[:]), time.Now().Add(300*time.Millisecond)
	})
	<-a.done
	if a.err == nil || !strings.Contains(a.err.Error(), "another key") || said != 0 {
		t.Errorf("err %v; the other heard %d requests", a.err, said)
	}
	for _, url := range []string{"http://host:1", "https://host:1", ""} {
		if _, err := New(Config{Boot: agentapi.Boot{URL: url}}); err == nil {
			t.Errorf("an agent was made of %q without a pin", url)
		}
	}
}

// Commands in a job reach the daemon by the run's socket, and others' do not.
func TestJobSocket(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("SKIPPED: there is no curl to call with")
	}
	d := newFakeServer(t)
	a := startAgent(t, d, nil)
	dir := d.launch("r1", `curl -s --unix-socket $FSUB_SOCKET 'http://x/slurm/v1/job/7%2F8?a=b%20c' -H 'Authorization: Bearer mine'; echo; touch began; while ! [ -e go ]; do sleep 0.01; done; echo $FSUB_SOCKET`, nil)
	awaitFile(t, filepath.Join(dir, "began"))
	want := "answer to " + agentapi.PathJob + "r1/slurm/v1/job/7/8\n"
	if got := output(t, dir); got != want || len(d.inJob) != 1 || d.inJob[0] != "GET "+agentapi.PathJob+"r1/slurm/v1/job/7%2F8?a=b%20c" {
		t.Errorf("it wrote %q; the daemon heard %q", got, d.inJob)
	}
	path := filepath.Join(d.dir, "r1", "go")
	if os.Getuid() == 0 {
		socket := filepath.Join(a.dir, "run", "r1", "fsub.sock")
		if _, err := os.Stat(socket); err != nil {
			t.Error(err)
		}
		cmd := exec.Command("curl", "-s", "--unix-socket", socket, "http://x/y")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65533, Gid: 65533}}
		if out, err := cmd.CombinedOutput(); err == nil || len(out) > 0 {
			t.Errorf("another user was answered %q", out)
		}
	}
	os.WriteFile(path, nil, 0o644)
	d.awaitEnd("r1")
	lines := strings.Fields(output(t, dir))
	if c, err := net.Dial("unix", lines[len(lines)-1]); err == nil {
		c.Close()
		t.Error("the socket outlived the run")
	}
}

// A job that wants more memory than it has is killed by the kernel, and its end says so.
func TestMemory(t *testing.T) {
	probe := newCgroups("", logger(t))
	limited := probe.mem1 != "" || probe.has("memory")
	probe.close()
	if !limited {
		t.Skip("SKIPPED: no cgroup of this machine limits memory for this user")
	}
	d := newFakeServer(t)
	startAgent(t, d, nil)
	dir := d.launch("r1", `head -c 300000000 /dev/zero | tail | wc -c; echo went on`, func(l *agentapi.Launch) { l.Groups[0].Nodes[0].MemMiB = 50 })
	s := d.awaitEnd("r1")
	if s.Why != agentapi.WhyMemory || exitCode(s) != "0:125" || s.Steps[0].State != "OUT_OF_MEMORY" || s.Steps[0].Exit != memoryExit || s.Steps[0].Used.MaxRSS < 30<<20 {
		t.Errorf("%+v", s)
	}
	if got := output(t, dir); !strings.HasSuffix(got, "slurmstepd: error: Detected 1 oom_kill event in StepId=30000001.batch. Some of the step tasks have been OOM Killed.\n") {
		t.Errorf("it wrote %q", got)
	}
}

// What a job has used is told.
func TestUsage(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	d.launch("r1", `head -c 100000000 /dev/zero | tail -c 90000000 | wc -c; for ((i=0;i<100000;i++)); do :; done`, nil)
	s := d.awaitEnd("r1")
	if len(s.Steps) != 1 || s.Steps[0].Used.User+s.Steps[0].Used.System < 50*time.Millisecond || s.Steps[0].Used.MaxRSS < 50<<20 || s.Steps[0].Used.MaxNode != "node-1" {
		t.Errorf("%+v", s.Steps)
	}
}

// GPUs are as nvidia-smi tells.
func TestGPUs(t *testing.T) {
	dir := t.TempDir()
	smi := "#!/bin/sh\ncase $1 in *uuid) echo '0, NVIDIA H100, GPU-a'; echo '1, NVIDIA H100, GPU-b';; *) echo '0, 50, 1000'; echo '1, 100, 3000';; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(smi), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if d := cmp.Diff([]agentapi.GPU{{Index: 0, Type: "NVIDIA H100", UUID: "GPU-a"}, {Index: 1, Type: "NVIDIA H100", UUID: "GPU-b"}}, gpus()); d != "" {
		t.Error(d)
	}
	m := newGPUMeter(new(gpuTable), []int{1})
	m.looked = time.Now().Add(-time.Hour)
	m.look()
	var u agentapi.Used
	m.last(&u)
	if u.GPUMem != 3000<<20 || u.GPUUtil != 100 || u.GPUHours < 0.99 || u.GPUHours > 1.01 {
		t.Errorf("%+v", u)
	}
}

package bed

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestBed brings one bed up in a directory of its own, with a subnet of its own, and tries everything on it. The root
// filesystems come from the machine's cache, or are built into it (a minute or two).
func TestBed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: the bed needs root; no real Slurm was tried")
	}
	if testing.Short() {
		t.Skip("SKIPPED: -short; no real Slurm was tried")
	}
	dir, err := os.MkdirTemp("", "fsub-bed-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the users' homes are in it
		t.Fatal(err)
	}
	b, err := New(Options{Dir: dir, Cache: os.Getenv("FSUB_BED_CACHE"), Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Down(context.Background(), nil, true, io.Discard); err != nil {
			t.Error(err)
		}
	})
	passwd := readFile(t, "/etc/passwd")
	if err := b.Up(t.Context(), AllSites(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	installFakeCommands(t, b)
	t.Run("sites", func(t *testing.T) {
		for _, s := range Sites {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				t.Run("a job writes into the user's home", func(t *testing.T) { testJob(t, b, s) })
				t.Run("nodes have names of their own", func(t *testing.T) { testNodes(t, b, s) })
				t.Run("slurmrestd takes the key's tokens only", func(t *testing.T) { testREST(t, b, s) })
				t.Run("users", func(t *testing.T) { testUsers(t, b, s) })
				t.Run("a job reaches the daemon", func(t *testing.T) { testShare(t, b, s) })
				t.Run("sbatch prints what it parsed", func(t *testing.T) { testParse(t, b, s.Name) })
				t.Run("held jobs have records of their own", func(t *testing.T) { testHold(t, b, s) })
			})
		}
	})
	t.Run("login", func(t *testing.T) { testLogin(t, b) })
	t.Run("link", func(t *testing.T) { testLink(t, b) })
	t.Run("services", func(t *testing.T) { testServices(t, b) })
	t.Run("up again changes nothing", func(t *testing.T) { testUpAgain(t, b) })
	t.Run("up repairs a site whose holder was killed", func(t *testing.T) { testRepair(t, b) })
	t.Run("down leaves nothing", func(t *testing.T) { testDown(t, b) })
	if got := readFile(t, "/etc/passwd"); got != passwd {
		t.Error("the machine's /etc/passwd was changed")
	}
}

// sbatch submits as alice, waits for the job's end, and returns what it wrote.
func sbatch(t *testing.T, b *Bed, site, script string, options ...string) string {
	t.Helper()
	out := filepath.Join(b.Home("alice"), site+"-"+fmt.Sprint(time.Now().UnixNano())+".out")
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	args := append([]string{"sbatch", "--wait", "-o", out, "--wrap", script}, options...)
	if _, err := b.Output(ctx, site, "alice", args...); err != nil {
		t.Fatalf("%v\n%s", err, b.Report(context.WithoutCancel(t.Context()), site))
	}
	return readFile(t, out)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func testJob(t *testing.T, b *Bed, s Site) {
	got := sbatch(t, b, s.Name, `id -un; pwd; echo gpus=$CUDA_VISIBLE_DEVICES; echo id=$SLURM_JOB_ID; cat /proc/sys/kernel/hostname`,
		"--gres=gpu:"+s.GPUType+":2", "-w", s.Name+"2")
	for _, want := range []string{"alice\n", b.Home("alice") + "\n", "gpus=0,1\n", s.Name + "2\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("job wrote %q, without %q", got, want)
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(b.Home("alice"), &st); err != nil || st.Uid != 7001 {
		t.Errorf("alice's home belongs to %d: %v", st.Uid, err)
	}
}

func testNodes(t *testing.T, b *Bed, s Site) {
	got := sbatch(t, b, s.Name, "srun hostname | sort", "-N2", "--switches=1")
	if want := fmt.Sprintf("%[1]s1\n%[1]s2\n", s.Name); got != want {
		t.Errorf("a job of two nodes under one switch ran on %q, want %q", got, want)
	}
	for deadline := time.Now().Add(startLimit); ; time.Sleep(100 * time.Millisecond) { // a controller that is slow to answer shows no nodes
		infos, err := b.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := infos[slices.IndexFunc(infos, func(i Info) bool { return i.Name == s.Name })]
		if i.Nodes["idle"]+i.Nodes["mixed"]+i.Nodes["completing"] == s.Nodes && strings.Contains(i.Version, ".") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("status: %+v", i)
		}
	}
}

func testREST(t *testing.T, b *Bed, s Site) {
	info, err := b.Site(s.Name)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(info.KeyFile); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("key file %s: %v %v", info.KeyFile, st, err)
	}
	key := readFile(t, info.KeyFile)
	version, refused := "v0.0.42", 511
	if s.Suite == "bookworm" {
		version, refused = "v0.0.38", 500
	}
	for name, tc := range map[string]struct {
		key  string
		code int
	}{"right key": {key, 200}, "wrong key": {key + "x", refused}} {
		if code := restDiag(t, info.RestURL, version, mintToken(tc.key, "slurm"), time.Minute); code != tc.code {
			t.Errorf("%s: diag answers %d, want %d", name, code, tc.code)
		}
	}
}

// mintToken makes a token as `scontrol token` does.
func mintToken(key, user string) string {
	enc := base64.RawURLEncoding.EncodeToString
	now := time.Now().Unix()
	text := enc([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc(fmt.Appendf(nil, `{"iat":%d,"exp":%d,"sun":%q}`, now, now+600, user))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return text + "." + enc(mac.Sum(nil))
}

// restDiag returns the status of GET /diag, 0 when slurmrestd does not answer in time.
func restDiag(t *testing.T, url, version, token string, limit time.Duration) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/slurm/"+version+"/diag/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-SLURM-USER-TOKEN", token)
	req.Header.Set("X-SLURM-USER-NAME", "slurm") // 22.05 wants it
	client := http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func testUsers(t *testing.T, b *Bed, s Site) {
	known := map[string]bool{}
	for _, u := range s.Users() {
		known[u.Name] = true
	}
	for _, u := range Users {
		_, err := b.Output(t.Context(), s.Name, "", "id", u.Name)
		if (err == nil) != known[u.Name] {
			t.Errorf("id %s: %v, known: %v", u.Name, err, known[u.Name])
		}
		out, err := b.Output(t.Context(), s.Name, "", "sacctmgr", "-nP", "show", "user", u.Name, "format=DefaultAccount")
		if err != nil {
			t.Error(err)
		}
		if got := strings.TrimSpace(out); known[u.Name] && got != u.Accounts[0] || !known[u.Name] && got != "" {
			t.Errorf("default account of %s is %q", u.Name, got)
		}
	}
	if _, err := b.Output(t.Context(), s.Name, "alice", "sbatch", "-A", "vision", "--wrap", "true"); err == nil {
		t.Error("alice may use an account that she is not in")
	}
}

func testLogin(t *testing.T, b *Bed) {
	got, err := b.Output(t.Context(), Login, "dave", "sh", "-c", "id -un; pwd; echo hello > from-login; test -e /etc/debian_version")
	if want := "dave\n" + b.Home("dave") + "\n"; err != nil || got != want {
		t.Errorf("login as dave: %q, %v; want %q", got, err, want)
	}
	if got, err := b.Output(t.Context(), "alpha", "dave", "cat", "from-login"); err != nil || got != "hello\n" {
		t.Errorf("alpha sees %q, %v in dave's home", got, err)
	}
	for set, want := range map[string]string{"": b.SocketFile(), "/elsewhere.sock": "/elsewhere.sock"} {
		if os.Unsetenv("FSUB_SOCKET"); set != "" {
			t.Setenv("FSUB_SOCKET", set)
		}
		if got, err := b.Output(t.Context(), Login, "alice", "printenv", "FSUB_SOCKET"); err != nil || got != want+"\n" {
			t.Errorf("with FSUB_SOCKET=%q the login has %q, %v", set, got, err)
		}
	}
	_, err = b.Output(t.Context(), Login, "", "false")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("false in the login: %v", err)
	}
	if _, err := b.Output(t.Context(), Login, "mallory", "true"); err == nil || !strings.Contains(err.Error(), "alice, bob") {
		t.Errorf("an unknown user: %v", err)
	}
}

func testLink(t *testing.T, b *Bed) {
	info, err := b.Site("alpha")
	if err != nil {
		t.Fatal(err)
	}
	token := mintToken(readFile(t, info.KeyFile), "slurm")
	steps := []struct {
		to    LinkState
		want  int
		limit time.Duration
	}{{LinkCut, 0, 3 * time.Second}, {LinkHeal, 200, time.Minute}, {LinkSlow, 200, time.Minute}, {LinkHeal, 200, time.Minute}}
	for _, step := range steps {
		if err := b.Link(t.Context(), "alpha", step.to); err != nil {
			t.Fatal(err)
		}
		if got := restDiag(t, info.RestURL, "v0.0.42", token, step.limit); got != step.want {
			t.Errorf("link %s: diag answers %d, want %d", step.to, got, step.want)
		}
		if step.to == LinkCut {
			if got := sbatch(t, b, "alpha", "echo inside"); got != "inside\n" {
				t.Errorf("inside a site that is cut off a job wrote %q", got)
			}
		}
	}
}

func testServices(t *testing.T, b *Bed) {
	// mariadb before slurmdbd, which may end when its database is gone
	for _, name := range []string{"mariadb", "slurmdbd", "slurmctld", "slurmrestd", "slurmd:beta6"} {
		for how, end := range map[string]func(string, string) error{"kill": b.KillService, "stop": b.StopService} {
			if err := end("beta", name); err != nil {
				t.Fatalf("%s %s: %v", how, name, err)
			}
			if pid, err := b.ServicePID("beta", name); pid != 0 || err != nil {
				t.Errorf("after %s, %s has PID %d, %v", how, name, pid, err)
			}
			if err := b.StartService(t.Context(), "beta", name); err != nil {
				t.Fatal(err)
			}
			if pid, err := b.ServicePID("beta", name); pid == 0 || err != nil {
				t.Errorf("after start, %s has PID %d, %v", name, pid, err)
			}
		}
	}
	for range 3 { // a new controller of 26.05 that was never stopped in order did not survive this
		if err := b.KillService("gamma", "slurmctld"); err != nil {
			t.Fatal(err)
		}
		if err := b.StartService(t.Context(), "gamma", "slurmctld"); err != nil {
			t.Fatal(err)
		}
		if out, err := b.Output(t.Context(), "gamma", "alice", "sbatch", "-o", "/dev/null", "--wrap", "true"); err != nil {
			t.Errorf("sbatch after a restart: %v %s", err, out)
		}
	}
	for how, end := range map[string]func(string, string) error{"kill": b.KillService, "stop": b.StopService} {
		if err := end("delta", "munged"); err != nil {
			t.Fatalf("%s munged: %v", how, err)
		}
		if how == "stop" { // after a kill its socket is left, and squeue tries that for 49 s
			if _, err := b.Output(t.Context(), "delta", "alice", "squeue"); err == nil {
				t.Error("without munged delta still knows its users")
			}
		}
		if err := b.StartService(t.Context(), "delta", "munged"); err != nil {
			t.Fatal(err)
		}
	}
	if got := sbatch(t, b, "delta", "echo known"); got != "known\n" {
		t.Errorf("job after munged came back wrote %q", got)
	}
	if got := sbatch(t, b, "beta", "echo alive", "-w", "beta6"); got != "alive\n" {
		t.Errorf("job after the restarts wrote %q", got)
	}
	if err := b.KillService("beta", "munged"); err == nil || !strings.Contains(err.Error(), "slurmctld") {
		t.Errorf("an unknown service: %v", err)
	}
}

func testUpAgain(t *testing.T, b *Bed) {
	before := servicePIDs(t, b)
	if err := b.Up(t.Context(), AllSites(), io.Discard); err != nil {
		t.Fatal(err)
	}
	if after := servicePIDs(t, b); !maps.Equal(before, after) {
		t.Errorf("processes before: %v\nafter: %v", before, after)
	}
}

func servicePIDs(t *testing.T, b *Bed) map[string]int {
	t.Helper()
	infos, err := b.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pids := map[string]int{}
	for _, i := range infos {
		pids[i.Name] = i.PID
		for name, pid := range i.Services {
			pids[i.Name+" "+name] = pid
			if pid == 0 {
				t.Errorf("%s does not run at %s", name, i.Name)
			}
		}
	}
	return pids
}

func testRepair(t *testing.T, b *Bed) {
	info, err := b.Site("alpha")
	if err != nil {
		t.Fatal(err)
	}
	holder, _ := b.holder("alpha")
	processes, err := processesOf(holder)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(info.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		for deadline := time.Now().Add(endLimit); ; time.Sleep(5 * time.Millisecond) {
			if _, err := startTime(p.pid); err != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%v outlives its site", p.argv)
			}
		}
	}
	if _, err := b.Site("alpha"); err == nil || !strings.Contains(err.Error(), "bin/bed up alpha") {
		t.Errorf("asking for a dead site: %v", err)
	}
	if err := b.Up(t.Context(), []string{"alpha"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got := sbatch(t, b, "alpha", "echo again"); got != "again\n" {
		t.Errorf("job after the repair wrote %q", got)
	}
}

func testDown(t *testing.T, b *Bed) {
	st, err := b.loadState()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		if err := b.Down(t.Context(), nil, false, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, proc := range entries {
		for _, file := range []string{"mounts", "cmdline"} {
			if data, _ := os.ReadFile(filepath.Join(proc, file)); strings.Contains(string(data), b.Dir()) {
				t.Errorf("%s/%s still names the bed", proc, file)
			}
		}
	}
	for _, args := range [][]string{{"ip", "-4", "route", "show", "table", "all"}, {"ip", "-o", "link"}} {
		out, err := output(t.Context(), args...)
		if err != nil {
			t.Fatal(err)
		}
		if prefix := strings.TrimSuffix(st.Subnet.Addr().String(), "0"); strings.Contains(out, " "+prefix) || strings.Contains(out, b.Dir()) ||
			strings.Contains(out, strings.TrimSuffix(siteLink(st.Subnet, 1).Device, "1")) {
			t.Errorf("%v still shows the bed:\n%s", args, out)
		}
	}
	if _, err := b.Output(t.Context(), "alpha", "alice", "true"); err == nil || !strings.Contains(err.Error(), "not up") {
		t.Errorf("exec at a site that is down: %v", err)
	}
}

// Package ood tries the app of Open OnDemand, deploy/ood, under a server of its own.
package ood

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/audit"
	"fsub/federation/web"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// serve runs the app as an ordinary user, and returns where it is.
func serve(t *testing.T, as *syscall.Credential, socket string) string {
	t.Helper()
	const python = "/usr/bin/python3" // one that every user may run
	if _, err := os.Stat(python); err != nil {
		t.Skip(err)
	}
	text, err := os.ReadFile("../../deploy/ood/passenger_wsgi.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", "import sys; exec(compile(sys.stdin.read(), 'passenger_wsgi.py', 'exec'))", "0")
	cmd.Stdin, cmd.Dir, cmd.Env = strings.NewReader(string(text)), "/", []string{"FSUB_SOCKET=" + socket, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimSpace(line), "/")
}

// The app shows the page as the user whom it runs as, with links below its own path, and does what its forms say unless they are of another origin.
func TestApp(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root runs it as somebody else")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip(err)
	}
	n, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	uid := uint32(n)
	d := apitest.Start(t, api.Config{Web: func(h http.Handler) http.Handler {
		return web.OnSocket(web.Config{API: h, Federation: "fed", Version: "v1"})
	}})
	for i, u := range []struct {
		name string
		uid  uint32
	}{{"nobody", uid}, {"daemon", 1}} {
		d.Put(t, federation.Job{ID: federation.JobID(1 + i), User: u.name, UID: u.uid, GID: u.uid, State: federation.Pending, Submit: time.Now(), Spec: &sbatch.Spec{Name: "job-of-" + u.name, WorkDir: "/", Partition: "main"}})
	}
	at := serve(t, &syscall.Credential{Uid: uid, Gid: uid}, d.Socket)
	ask := func(method, path string, form url.Values, head ...string) (int, string, http.Header) {
		t.Helper()
		r, err := http.NewRequest(method, at+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		if form != nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		for i := 0; i < len(head); i += 2 {
			r.Header.Set(head[i], head[i+1])
		}
		c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text), resp.Header
	}
	if status, _, head := ask("GET", "/", nil); status != http.StatusSeeOther || head.Get("Location") != "/pun/sys/fsub/jobs" {
		t.Errorf("the first page: %d %s", status, head)
	}
	status, text, head := ask("GET", "/jobs", nil, "Remote-User", "daemon", "Cookie", "fsub=1.x", "X-Forwarded-Prefix", "/evil")
	if status != 200 || !strings.Contains(text, "My jobs") || !strings.Contains(text, "job-of-nobody") || strings.Contains(text, "job-of-daemon") || !strings.Contains(text, `href="/pun/sys/fsub/job/1"`) || strings.Contains(text, "/evil") {
		t.Errorf("my jobs: %d %s", status, text)
	}
	if !strings.Contains(head.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the page's policy is lost: %v", head)
	}
	if status, _, _ := ask("GET", "/jobs", nil, "If-None-Match", head.Get("ETag")); status != http.StatusNotModified {
		t.Errorf("a page that has not changed: %d", status)
	}
	form := url.Values{"verb": {"hold"}, "job": {"1"}, "confirmed": {"yes"}}
	if status, _, _ := ask("POST", "/act", form, "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
		t.Errorf("a form of another origin: %d", status)
	}
	if status, text, head := ask("POST", "/act", form, "Sec-Fetch-Site", "same-origin"); status != http.StatusSeeOther || !strings.HasPrefix(head.Get("Location"), "/pun/sys/fsub/operation/") {
		t.Errorf("a form: %d %s %v", status, text, head)
	}
	entries, err := d.Store.Audit(t.Context(), audit.Query{Kind: audit.Operation})
	if err != nil || len(entries) > 1 || len(entries) == 1 && (entries[0].Who.User != "nobody" || entries[0].Who.From != "web") {
		t.Errorf("%v: %+v", err, entries)
	}
	if status, text, _ := ask("POST", "/act", url.Values{"x": {strings.Repeat("x", 2<<20)}}, "Expect", "100-continue"); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large form: %d %s", status, text)
	}
	d.Stop()
	if status, text, _ := ask("GET", "/jobs", nil); status != http.StatusServiceUnavailable || !strings.Contains(text, fmt.Sprintf("does not answer at %s", d.Socket)) {
		t.Errorf("a daemon that is away: %d %s", status, text)
	}
}

package agentserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/tunnel"
)

// driver is a site's driver with two gangs of one machine each. Each machine has one run of its own: "run-1" and "run-2".
type driver struct {
	mu     sync.Mutex
	err    error // of every method, if set
	polls  int
	report agentapi.Report
	log    bytes.Buffer
	block  bool          // Poll waits for its context
	ends   chan struct{} // closed by Report, which then waits for its context
	asking []string      // calls of Asking, and of what they return
}

var runs = map[cloud.MachineID]string{"aws:1": "run-1", "aws:2": "run-2"}

func (d *driver) Hello(_ context.Context, gang string, h agentapi.Hello) (cloud.Let, error) {
	if d.err != nil {
		return cloud.Let{}, d.err
	}
	m := cloud.MachineID("aws:" + strings.TrimPrefix(gang, "gang"))
	return cloud.Let{Machine: m, Node: "node-" + h.Instance}, nil
}

func (d *driver) Poll(ctx context.Context, m cloud.MachineID, p agentapi.Poll) (agentapi.Orders, error) {
	d.mu.Lock()
	d.polls++
	d.mu.Unlock()
	if d.err != nil {
		return agentapi.Orders{}, d.err
	}
	if d.block {
		<-ctx.Done()
	}
	return agentapi.Orders{Version: p.Version + 1, Runs: []agentapi.Order{{Run: runs[m]}}}, nil
}

func (d *driver) Report(ctx context.Context, _ cloud.MachineID, r agentapi.Report) error {
	d.report = r
	if d.ends != nil {
		close(d.ends)
		<-ctx.Done()
		return fmt.Errorf("the daemon ends: %w", federation.ErrUnavailable)
	}
	return d.err
}

func (d *driver) Log(_ context.Context, m cloud.MachineID, run, _ string, offset int64, body io.Reader) (int64, error) {
	if d.err != nil {
		return 0, d.err
	}
	if runs[m] != run {
		return 0, fmt.Errorf("%w: not its run", federation.ErrDenied)
	}
	if offset != int64(d.log.Len()) {
		return int64(d.log.Len()), fmt.Errorf("%w: a gap", federation.ErrConflict)
	}
	_, err := io.Copy(&d.log, body)
	return int64(d.log.Len()), err
}

func (d *driver) Owner(_ context.Context, m cloud.MachineID, run string) (string, error) {
	if runs[m] != run {
		return "", fmt.Errorf("%w: not its run", federation.ErrDenied)
	}
	return "user-of-" + run, nil
}

func (d *driver) Stream(_ cloud.MachineID, id string, accept func() (tunnel.End, error)) error {
	if id != "awaited" {
		return federation.ErrNotFound
	}
	c, err := accept()
	if err == nil {
		go func() { io.Copy(c, c); c.CloseWrite() }()
	}
	return err
}

func (d *driver) Asking(run string) func() {
	d.asking = append(d.asking, run)
	return func() { d.asking = append(d.asking, run+" answered") }
}

// world is a server with a site, and its clock.
type world struct {
	*Server
	site  *driver
	now   time.Time
	srv   *httptest.Server
	logs  bytes.Buffer
	seen  *http.Request // what the API got last
	epoch string        // that the machine says it has seen
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{site: &driver{}, now: time.Unix(1_000_000, 0)}
	agent := filepath.Join(t.TempDir(), "fed-agent")
	if err := os.WriteFile(agent, []byte("the agent"), 0o755); err != nil {
		t.Fatal(err)
	}
	api := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.seen = r
		_, _ = fmt.Fprint(rw, "the API")
	})
	var err error
	w.Server, err = New(Config{
		Key: bytes.Repeat([]byte{7}, 32), API: api, Token: func(user string, _ uint32, until time.Time) string { return user + until.Sub(w.now).String() },
		Agent: agent, URL: "https://door:1", Pin: "PIN", Socket: "/run/door", Lease: time.Minute, PollWait: 50 * time.Millisecond,
		Now:    func() time.Time { return w.now },
		Logger: slog.New(slog.NewTextHandler(&w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Add("aws", w.site)
	w.srv = httptest.NewServer(w.Server)
	t.Cleanup(w.srv.Close)
	return w
}

// ask sends a request with a token.
func (w *world) ask(t *testing.T, method, path, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, w.srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if w.epoch != "" {
		r.Header.Set(agentapi.HeaderEpoch, w.epoch)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// session lets the machine of a gang in.
func (w *world) letIn(t *testing.T, gang string) string {
	t.Helper()
	code, text := w.ask(t, "POST", agentapi.PathHello, w.oneTime("aws", gang, w.now.Add(time.Hour)), `{"instance":"i-1"}`)
	var welcome agentapi.Welcome
	if err := json.Unmarshal([]byte(text), &welcome); err != nil || code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	if welcome.Node != "node-i-1" || welcome.Lease != time.Minute || welcome.PollWait <= 0 || welcome.Machine != "aws:"+strings.TrimPrefix(gang, "gang") {
		t.Errorf("welcome %+v", welcome)
	}
	return welcome.Session
}

// routes that a machine asks with its session, about its own run where it is about one.
var machineRoutes = []struct{ method, path string }{
	{"POST", agentapi.PathPoll},
	{"POST", agentapi.PathReport},
	{"POST", agentapi.PathLog + "run-1/out?offset=0"},
	{"GET", agentapi.PathJob + "run-1/slurm/v0.0.41/jobs?x=1"},
}

func TestMachineIsLetIn(t *testing.T) {
	w := newWorld(t)
	session := w.letIn(t, "gang1")
	for _, route := range machineRoutes {
		if code, text := w.ask(t, route.method, route.path, session, "{}"); code != 200 {
			t.Errorf("%s: %d %s", route.path, code, text)
		}
	}
	if w.letIn(t, "gang1") != session {
		t.Error("the same hello made another session")
	}
	if w.letIn(t, "gang2") == session {
		t.Error("two machines have one session")
	}
}

// TestBadTokensGetNothing: none, made up, of the other kind, altered, of another daemon, expired.
func TestBadTokensGetNothing(t *testing.T) {
	w := newWorld(t)
	session, oneTime := w.letIn(t, "gang1"), w.oneTime("aws", "gang1", w.now.Add(time.Hour))
	other := newWorld(t)
	other.cfg.Key = bytes.Repeat([]byte{8}, 32)
	ofJob := identity.NewTokens(w.cfg.Key).MakeFor("root", &identity.JobClaim{Job: 7, Attempt: 1, Site: "aws"}, w.now.Add(time.Hour)) // even under the same key
	for name, token := range map[string]string{
		"none": "", "made up": "fs1.x.y", "one-time": oneTime, "another daemon's": other.session("aws:1"), "a job's": ofJob,
		"altered": strings.Replace(session, "fs1.", "fs1.A", 1), "shortened": session[:len(session)-1], "another kind": "fo1" + session[3:],
		"no machine": w.sign(kindSession, "aws:1", "x"),
	} {
		for _, route := range machineRoutes {
			if code, text := w.ask(t, route.method, route.path, token, "{}"); code != 401 {
				t.Errorf("%s token, %s: %d %s", name, route.path, code, text)
			}
		}
	}
	for name, token := range map[string]string{
		"none": "", "session": session, "a job's": ofJob, "another daemon's": other.oneTime("aws", "gang1", w.now.Add(time.Hour)),
		"expired": w.oneTime("aws", "gang1", w.now), "altered": strings.Replace(oneTime, ".", ".A", 1), "another kind": "fs1" + oneTime[3:],
	} {
		if code, text := w.ask(t, "POST", agentapi.PathHello, token, "{}"); code != 401 {
			t.Errorf("%s token, hello: %d %s", name, code, text)
		}
	}
	if w.site.polls != 0 || w.seen != nil {
		t.Error("a bad token reached the driver or the API")
	}
}

// TestOthersRunsAreForbidden: a machine that is good gets nothing of another's run.
func TestOthersRunsAreForbidden(t *testing.T) {
	w := newWorld(t)
	session := w.letIn(t, "gang2")
	for _, route := range machineRoutes[2:] {
		if code, text := w.ask(t, route.method, route.path, session, "{}"); code != 403 {
			t.Errorf("%s: %d %s", route.path, code, text)
		}
	}
	if w.site.log.Len() != 0 || w.seen != nil {
		t.Error("another's token reached the log or the API")
	}
}

func TestErrorsHaveTheirStatus(t *testing.T) {
	w := newWorld(t)
	session, hello := w.letIn(t, "gang1"), w.oneTime("aws", "gang1", w.now.Add(time.Hour))
	for _, c := range []struct {
		err                      error
		hello, poll, report, log int
	}{
		{federation.ErrDenied, 401, 401, 401, 403},
		{federation.ErrConflict, 425, 409, 409, 409},
		{federation.ErrUnavailable, 503, 503, 503, 503},
		{errors.New("other"), 503, 503, 503, 503},
		{federation.ErrInvalid, 400, 400, 400, 400},
	} {
		w.site.err = fmt.Errorf("driver: %w", c.err)
		for path, want := range map[string]int{agentapi.PathHello: c.hello, agentapi.PathPoll: c.poll, agentapi.PathReport: c.report, agentapi.PathLog + "run-1/err?offset=0": c.log} {
			token := session
			if path == agentapi.PathHello {
				token = hello
			}
			if code, text := w.ask(t, "POST", path, token, "{}"); code != want {
				t.Errorf("%v, %s: %d %s, want %d", c.err, path, code, text, want)
			}
		}
	}
	w.site.err = nil
	for path, want := range map[string]int{"": 404, agentapi.PathLog + "run-1/tmp?offset=0": 400, agentapi.PathLog + "run-1/out?offset=-1": 400, agentapi.PathLog + "run-1/out": 400} {
		if code, _ := w.ask(t, "POST", path, session, "{}"); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	for body, want := range map[string]int{"": 400, "[": 400, `{"version":"` + strings.Repeat("x", maxPoll) + `"}`: 413} {
		if code, _ := w.ask(t, "POST", agentapi.PathPoll, session, body); code != want {
			t.Errorf("body %.10q: %d, want %d", body, code, want)
		}
	}
}

// TestSitesThatAreNotThereYet: machines ask again; they do not end themselves while the daemon starts.
func TestSitesThatAreNotThereYet(t *testing.T) {
	w := newWorld(t)
	session := w.letIn(t, "gang1")
	w.sites = map[federation.SiteName]cloud.Agents{}
	if code, _ := w.ask(t, "POST", agentapi.PathPoll, session, "{}"); code != 503 {
		t.Errorf("poll: %d", code)
	}
	if code, _ := w.ask(t, "POST", agentapi.PathHello, w.oneTime("aws", "gang1", w.now.Add(time.Hour)), "{}"); code != 503 {
		t.Errorf("hello: %d", code)
	}
}

// TestReportIsNotTakenByADaemonThatEnds: the agent has to tell the next one.
func TestReportIsNotTakenByADaemonThatEnds(t *testing.T) {
	w := newWorld(t)
	session := w.letIn(t, "gang1")
	w.site.ends = make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- w.Serve(ctx, l) }()
	w.srv.URL = "http://" + l.Addr().String()
	go func() { <-w.site.ends; cancel() }()
	if code, text := w.ask(t, "POST", agentapi.PathReport, session, "{}"); code != 503 {
		t.Errorf("%d %s", code, text)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestMachineHasANewerEpoch: a daemon that leads no longer answers no machine that another one has spoken to: not even that it does not know the machine.
func TestMachineHasANewerEpoch(t *testing.T) {
	w := newWorld(t)
	w.cfg.Epoch = 7
	session := w.letIn(t, "gang1")
	if _, text := w.ask(t, "POST", agentapi.PathHello, w.oneTime("aws", "gang1", w.now.Add(time.Hour)), "{}"); !strings.Contains(text, `"epoch":7`) {
		t.Errorf("the welcome has no epoch: %s", text)
	}
	if _, text := w.ask(t, "POST", agentapi.PathPoll, session, "{}"); !strings.Contains(text, `"epoch":7`) {
		t.Errorf("the orders have no epoch: %s", text)
	}
	for _, tt := range []struct {
		own  int64
		seen string
		code int
	}{{7, "", 200}, {7, "6", 200}, {7, "7", 200}, {7, "8", 503}, {0, "8", 200}} {
		w.cfg.Epoch, w.epoch = tt.own, tt.seen
		for _, route := range machineRoutes {
			code, text := w.ask(t, route.method, route.path, session, "{}")
			if refused := code == 503 && strings.Contains(text, "leads no longer (epoch 7)"); refused != (tt.code == 503) {
				t.Errorf("%s of a machine that has seen epoch %q, to a daemon of epoch %d: %d %s", route.path, tt.seen, tt.own, code, text)
			}
		}
	}
	w.cfg.Epoch, w.epoch, w.site.err = 7, "8", federation.ErrDenied
	for _, route := range machineRoutes {
		if code, _ := w.ask(t, route.method, route.path, session, "{}"); code != 503 {
			t.Errorf("%s: a daemon that leads no longer denies the machine: %d", route.path, code)
		}
	}
}

func TestPollIsHeld(t *testing.T) {
	w := newWorld(t)
	session := w.letIn(t, "gang1")
	w.site.block = true
	code, text := w.ask(t, "POST", agentapi.PathPoll, session, `{"version":4}`)
	var o agentapi.Orders
	if err := json.Unmarshal([]byte(text), &o); err != nil || code != 200 || o.Version != 5 || o.Lease != time.Minute {
		t.Errorf("%d %s %+v", code, text, o)
	}
}

func TestLogGoesOnWhereItIs(t *testing.T) {
	w := newWorld(t)
	session := w.letIn(t, "gang1")
	for _, c := range []struct {
		offset, code int
		size         string
	}{{0, 200, `{"size":5}`}, {5, 200, `{"size":10}`}, {20, 409, `{"size":10}`}} {
		code, text := w.ask(t, "POST", fmt.Sprintf("%srun-1/out?offset=%d", agentapi.PathLog, c.offset), session, "12345")
		if code != c.code || strings.TrimSpace(text) != c.size {
			t.Errorf("offset %d: %d %s", c.offset, code, text)
		}
	}
}

func TestCommandsActAsTheOwner(t *testing.T) {
	w := newWorld(t)
	session := w.letIn(t, "gang1")
	r, err := http.NewRequest("POST", w.srv.URL+agentapi.PathJob+"run-1/fed/v1/a%2Fb?q=1", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+session)
	r.Header.Set("X-SLURM-USER-NAME", "root")
	r.Header.Set("X-SLURM-USER-TOKEN", "forged")
	r.Header.Set("X-Fsub-Job", "7")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	got := w.seen
	if got.Method != "POST" || got.URL.Path != "/fed/v1/a/b" || got.URL.EscapedPath() != "/fed/v1/a%2Fb" || got.URL.RawQuery != "q=1" || got.Header.Get("X-Fsub-Job") != "7" {
		t.Errorf("the API got %s %s", got.Method, got.URL)
	}
	if h := got.Header; h.Get("Authorization") != "" || h.Get("X-SLURM-USER-NAME") != "" || h.Get("X-SLURM-USER-TOKEN") != "user-of-run-11m0s" {
		t.Errorf("the API got headers %v", h)
	}
	if got.TLS == nil {
		t.Error("the API would ask the kernel who calls, and hear that it is the agent")
	}
	w.ask(t, "GET", agentapi.PathJob+"run-1/slurm/v0.0.42/jobs", session, "")
	if want := []string{"run-1", "run-1 answered"}; !slices.Equal(w.site.asking, want) {
		t.Errorf("of a change and a question the driver is told %q, want %q", w.site.asking, want)
	}
}

func TestBoot(t *testing.T) {
	w := newWorld(t)
	expires := w.now.Add(time.Hour)
	sum := sha256.Sum256([]byte("the agent"))
	alone, err := w.Boot("aws", "gang1", agentapi.Boot{Expires: expires, PowerOff: true, Metadata: "ec2"})
	want := agentapi.Boot{Expires: expires, PowerOff: true, Metadata: "ec2", URL: "https://door:1", Pin: "PIN", Lease: time.Minute,
		Agent: hex.EncodeToString(sum[:]), Token: w.oneTime("aws", "gang1", expires)}
	if err != nil || alone != want {
		t.Errorf("boot data %+v, error %v", alone, err)
	}
	if again, _ := w.Boot("aws", "gang1", agentapi.Boot{Expires: expires, PowerOff: true, Metadata: "ec2"}); again != alone {
		t.Errorf("asked again: %+v", again)
	}
	near, err := w.Boot("local", "gang1", agentapi.Boot{Expires: expires, Path: "/agent", Lease: time.Second})
	if err != nil || near.URL != "unix:/run/door" || near.Pin != "" || near.Agent != "" || near.Lease != time.Second || near.Token == alone.Token {
		t.Errorf("boot data %+v, error %v", near, err)
	}
	if code, text := w.ask(t, "GET", agentapi.PathBinary+alone.Agent, "", ""); code != 200 || text != "the agent" {
		t.Errorf("binary: %d %s", code, text)
	}
	if code, _ := w.ask(t, "GET", agentapi.PathBinary+strings.Repeat("0", 64), "", ""); code != 404 {
		t.Errorf("another binary: %d", code)
	}
	if _, err := w.Boot("aws", "gang1", agentapi.Boot{}); !errors.Is(err, federation.ErrInvalid) {
		t.Errorf("without an end: %v", err)
	}
}

// Where several daemons share a database machines are told the addresses of all, with one pin, at their boot and with each order.
func TestSeveralDaemons(t *testing.T) {
	w := newWorld(t)
	session := w.letIn(t, "gang1")
	if _, text := w.ask(t, "POST", agentapi.PathPoll, session, "{}"); strings.Contains(text, "servers") || w.Servers() != nil {
		t.Errorf("a daemon that is alone names others: %v, %s", w.Servers(), text)
	}
	others := []string{"https://b:1", "https://c:1"}
	w.cfg.Others = func() []string { return others }
	b, err := w.Boot("aws", "gang1", agentapi.Boot{Expires: w.now.Add(time.Hour), PowerOff: true})
	if want := "https://door:1,https://b:1,https://c:1"; err != nil || b.URL != want || b.Pin != "PIN" {
		t.Errorf("machines are told %s with pin %q (%v), want %s", b.URL, b.Pin, err, want)
	}
	b, err = w.Boot("aws", "gang1", agentapi.Boot{Expires: w.now.Add(time.Hour), PowerOff: true, URL: "https://b:1,https://door:1"})
	if err != nil || b.URL != "https://b:1,https://door:1" || b.Pin != "PIN" {
		t.Errorf("a gang that was asked for before is told %s with pin %q (%v)", b.URL, b.Pin, err)
	}
	others = others[:1]
	if _, text := w.ask(t, "POST", agentapi.PathPoll, session, "{}"); !strings.Contains(text, `"servers":["https://door:1","https://b:1"]`) {
		t.Errorf("orders: %s", text)
	}
}

func TestNothingSecretIsLogged(t *testing.T) {
	w := newWorld(t)
	hello := w.oneTime("aws", "gang1", w.now.Add(time.Hour))
	session := w.letIn(t, "gang1")
	for _, err := range []error{nil, federation.ErrDenied, federation.ErrUnavailable} {
		w.site.err = err
		for _, path := range []string{agentapi.PathHello, agentapi.PathPoll, agentapi.PathReport, agentapi.PathLog + "run-1/out?offset=0", agentapi.PathJob + "run-1/x"} {
			for _, token := range []string{hello, session} {
				w.ask(t, "POST", path, token, "{}")
			}
		}
	}
	logs := w.logs.String()
	if !strings.Contains(logs, "may not register") {
		t.Fatalf("nothing was logged: %s", logs)
	}
	for _, token := range []string{hello, session, strings.Split(hello, ".")[2], strings.Split(session, ".")[2]} {
		if strings.Contains(logs, token) {
			t.Errorf("a token is in the log: %s", logs)
		}
	}
}

package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/records"
	"fsub/federation/store"
)

// source is a log of n commits with one event each, of jobs of user n%2.
type source struct {
	mu      sync.Mutex
	n       int
	trimmed int
}

func (s *source) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n += n
}

func (s *source) Events(_ context.Context, after journal.Mark) (p Page, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after > 0 && int(after) < s.trimmed {
		return p, federation.ErrTrimmed
	}
	if p.Mark = journal.Mark(s.n); after == 0 {
		return p, nil
	}
	from := max(int(after), s.trimmed)
	to := min(from+10, s.n)
	for i := from + 1; i <= to; i++ {
		p.Events = append(p.Events, Event{Mark: journal.Mark(i), At: time.Now(), Type: "fsub.job.end", About: fmt.Sprint(i), Data: i, Of: true, UID: uint32(i % 2)})
	}
	p.Mark, p.Full = journal.Mark(max(to, from)), to < s.n
	return p, nil
}

func (s *source) Filter(d *Definition) (func() func(*Event) bool, error) {
	return func() func(*Event) bool { return func(e *Event) bool { return e.UID == d.UID } }, nil
}

func (s *source) Wide(*Definition) bool { return false }

// receiver is an endpoint that answers as answer says, and keeps what it is sent.
type receiver struct {
	*httptest.Server
	answer func(n int, w http.ResponseWriter)

	mu   sync.Mutex
	ids  []string
	good []string // those that it has answered with success
	errs []error
	more chan struct{}
	key  func() string
}

func newReceiver(t *testing.T, answer func(n int, w http.ResponseWriter)) *receiver {
	r := &receiver{answer: answer, more: make(chan struct{}, 1000)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	id := req.Header.Get("webhook-id")
	r.mu.Lock()
	r.ids = append(r.ids, id)
	n := len(r.ids)
	if r.key != nil {
		hook, err := standardwebhooks.NewWebhook(r.key())
		if err == nil {
			err = hook.Verify(body, req.Header)
		}
		var e cloudEvent
		if err == nil {
			err = json.Unmarshal(body, &e)
		}
		if err == nil && (e.ID != id || e.SpecVersion != "1.0") {
			err = fmt.Errorf("%+v", e)
		}
		r.errs = append(r.errs, err)
	}
	r.mu.Unlock()
	with := &status{w, http.StatusOK}
	if r.answer != nil {
		r.answer(n, with)
	}
	if with.code == http.StatusOK {
		r.mu.Lock()
		r.good = append(r.good, id)
		r.mu.Unlock()
	}
	r.more <- struct{}{}
}

// status knows which status was answered.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// delivered is how often an event was answered with success.
func (r *receiver) delivered(id string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, good := range r.good {
		if good == id {
			n++
		}
	}
	return n
}

func (r *receiver) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ids)
}

func (r *receiver) wait(n int) {
	for range n {
		<-r.more
	}
}

type world struct {
	*testing.T
	st      *store.Store
	src     *source
	records records.Store // of the hub that starts next
	hub     *Hub
	box     *Box
	end     func()
	off     chan string
}

func newWorld(t *testing.T) *world {
	st, err := store.Open(t.Context(), store.Config{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	box, err := NewBox(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	was := delays
	delays = [Tries - 1]time.Duration{}
	for i := range delays {
		delays[i] = 10 * time.Millisecond
	}
	t.Cleanup(func() { delays = was })
	return &world{T: t, st: st, records: st, src: &source{n: 100}, box: box, off: make(chan string, 10)}
}

func (w *world) start() {
	allow, err := ReadAllowed([]string{"127.0.0.0/8"})
	if err != nil {
		w.Fatal(err)
	}
	w.hub = New(Config{Federation: "f", Records: w.records, Source: w.src, Box: w.box, Allow: allow, Logger: slog.New(slog.DiscardHandler),
		Tell: func(_ context.Context, owner, subject, _ string) error { w.off <- owner + ": " + subject; return nil }})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); w.hub.Run(ctx) }()
	var once sync.Once
	w.end = func() { once.Do(func() { cancel(); <-done }) }
	w.Cleanup(w.end)
}

// add adds an endpoint at the end of the log as it is now, and returns its secret.
func (w *world) add(name, url string, uid uint32) string {
	e := Endpoint{Definition: Definition{Owner: "ann", Name: name, UID: uid, URL: url, Made: time.Now().UTC()}, State: State{Mark: journal.Mark(w.src.n)}}
	key := w.box.Rotate(&e.Definition, time.Now())
	if err := Kept(w.st).Put(w.Context(), &e); err != nil {
		w.Fatal(err)
	}
	return key
}

func ids(from, to, step int) (all []string) {
	for i := from; i <= to; i += step {
		all = append(all, fmt.Sprintf("%d.0", i))
	}
	return all
}

// Events of an endpoint's owner come in order and no others, signed so that the reference library takes it; what fails comes again with the same ID.
func TestDelivery(t *testing.T) {
	w := newWorld(t)
	r := newReceiver(t, func(n int, rw http.ResponseWriter) {
		switch n {
		case 1:
			rw.WriteHeader(500)
		case 2:
			http.Redirect(rw, &http.Request{}, "http://127.0.0.1:1/", http.StatusFound)
		case 3:
			rw.Header().Set("Retry-After", "0")
			rw.WriteHeader(503)
		}
	})
	key := w.add("a", r.URL, 1)
	r.key = func() string { return key }
	w.src.add(6)
	w.start()
	r.wait(6)
	if got, want := r.seen(), append(ids(101, 101, 1), "101.0", "101.0", "101.0", "103.0", "105.0"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, err := range r.errs {
		if err != nil {
			t.Errorf("the reference library: %v", err)
		}
	}
	// A new daemon goes on behind what was delivered.
	w.end()
	w.src.add(2)
	w.start()
	r.wait(1)
	if got := r.seen(); got[6] == "105.0" { // it was taken, and that was not yet known when the daemon ended
		r.wait(1)
	}
	if got := r.seen(); got[len(got)-1] != "107.0" || len(slices.Compact(got[3:])) != 4 {
		t.Errorf("after a restart: %v", got)
	}
}

// While a secret is replaced both sign.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	d := Definition{Owner: "ann", Name: "a"}
	now := time.Now()
	first := w.box.Rotate(&d, now)
	second := w.box.Rotate(&d, now)
	for at, want := range map[time.Duration]int{0: 2, rotation: 1} {
		keys, err := w.box.secrets(&d, now.Add(at))
		if err != nil || len(keys) != want || keys[0] != second {
			t.Fatalf("%v, %v", keys, err)
		}
	}
	keys, _ := w.box.secrets(&d, now)
	body := []byte("{}")
	h := http.Header{}
	h.Set("webhook-id", "1.0")
	h.Set("webhook-timestamp", fmt.Sprint(now.Unix()))
	h.Set("webhook-signature", sign(keys, "1.0", now, body))
	for _, key := range []string{first, second} {
		hook, err := standardwebhooks.NewWebhook(key)
		if err == nil {
			err = hook.Verify(body, h)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if d.Owner = "eve"; true {
		if _, err := w.box.secrets(&d, now); err == nil {
			t.Error("a secret that was moved to another endpoint is opened")
		}
	}
}

// An endpoint that wants no more, or never answers well, is off and its owner is told; a dead one slows no other.
func TestOff(t *testing.T) {
	w := newWorld(t)
	gone := newReceiver(t, func(_ int, rw http.ResponseWriter) { rw.WriteHeader(410) })
	bad := newReceiver(t, func(_ int, rw http.ResponseWriter) { rw.WriteHeader(500) })
	stuck := make(chan struct{})
	hangs := newReceiver(t, func(int, http.ResponseWriter) { <-stuck })
	defer close(stuck)
	good := newReceiver(t, nil)
	for name, r := range map[string]*receiver{"gone": gone, "bad": bad, "hangs": hangs, "good": good} {
		w.add(name, r.URL, 1)
	}
	w.src.add(10)
	w.start()
	good.wait(5)
	if got := good.seen(); !slices.Equal(got, ids(101, 109, 2)) {
		t.Errorf("%v", got)
	}
	told := []string{<-w.off, <-w.off}
	slices.Sort(told)
	if want := []string{"ann: Webhook bad is off", "ann: Webhook gone is off"}; !slices.Equal(told, want) {
		t.Errorf("%v", told)
	}
	if n, m := len(gone.seen()), len(bad.seen()); n != 1 || m != Tries {
		t.Errorf("%d and %d tries, want 1 and %d", n, m, Tries)
	}
	e, err := Kept(w.st).Find(t.Context(), "ann", "gone")
	if err != nil || !strings.HasPrefix(e.Off, "410") {
		t.Errorf("%+v, %v", e.State, err)
	}
}

// What is dialled is looked at when it is, whatever a name meant before.
func TestDial(t *testing.T) {
	a, err := ReadAllowed([]string{"hooks.example.org", "*.ci.example.org", "10.1.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string][2]bool{ // allowed by address alone, and with a listed name
		"10.1.2.3:443": {true, true}, "10.2.2.3:443": {false, true}, "93.184.216.34:443": {false, true},
		"127.0.0.1:80": {false, false}, "[::1]:80": {false, false}, "[::ffff:127.0.0.1]:80": {false, false}, "169.254.169.254:80": {false, false},
		"[fe80::1%eth0]:80": {false, false}, "0.0.0.0:80": {false, false}, "224.0.0.1:80": {false, false}, "[::ffff:10.1.2.3]:443": {true, true},
	} {
		if got := [2]bool{a.mayDial(address, false) == nil, a.mayDial(address, true) == nil}; got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
	for url, want := range map[string]string{
		"https://hooks.example.org/x": "", "https://a.ci.example.org": "", "https://10.1.2.3:8443/": "",
		"http://hooks.example.org/x": "http is for", "https://10.2.0.1/": "not allowed", "https://2130706433/": "invalid host", "https://0x7f000001/": "", "ftp://hooks.example.org": "invalid URL",
		"https://ann:x@hooks.example.org/": "invalid URL", "https://169.254.169.254/": "not allowed", "http://127.0.0.1:80/": "not allowed", "": "invalid URL",
	} {
		if err := a.CheckURL(url); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
	closed, _ := ReadAllowed(nil)
	if closed.Any() || closed.CheckURL("https://hooks.example.org") == nil {
		t.Error("an empty list allows something")
	}
	// A name of this machine is not dialled though its network is not listed.
	c := http.Client{Transport: a.transport()}
	if _, err := c.Get("http://localhost:1/"); err == nil || reason(err) != errForbidden.Error() {
		t.Errorf("localhost: %v", err)
	}
}

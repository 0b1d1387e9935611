package machines

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Host is what the machines of one simulated cloud run on: their addresses, directories and processes, and the servers of the cloud itself.
type Host struct {
	// Mu guards the cloud. What Later and Boot call has it.
	Mu sync.Mutex
	// Handler is the cloud's API.
	Handler http.Handler
	Log     *slog.Logger

	root    string // of the machines' directories; "": not made yet
	made    bool   // the Host made it
	closed  bool
	stop    context.Context // done once the Host is closed
	stopped context.CancelFunc
	work    sync.WaitGroup // goroutines that start or end machines
	servers []*http.Server
	running map[*Machine]bool
	net     byte // second byte of the machines' addresses
	claim   net.Listener
}

// NewHost returns a host whose machines have their directories in dir; "" is a new one, which Close removes. Clouds that run processes have addresses of
// their own; states share nothing with other clouds.
func NewHost(dir string, processes bool, log *slog.Logger) *Host {
	h := &Host{Log: log, root: dir, running: map[*Machine]bool{}, net: 127}
	if log == nil {
		h.Log = slog.New(slog.DiscardHandler)
	}
	h.stop, h.stopped = context.WithCancel(context.Background())
	if processes {
		h.net, h.claim = takeNet()
	}
	return h
}

// Start serves the cloud on addr, "127.0.0.1:0" if it is empty, and returns its URL. It can be called again, for another address.
func (h *Host) Start(addr string) (string, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: h.Handler, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.servers = append(h.servers, s)
	h.work.Go(func() { s.Serve(l) })
	return "http://" + l.Addr().String(), nil
}

// Done is closed once the Host is.
func (h *Host) Done() <-chan struct{} { return h.stop.Done() }

// Closed reports whether the Host is closed. The lock is held.
func (h *Host) Closed() bool { return h.closed }

// Close ends everything at once: the servers, the machines' processes, their metadata services and directories. It returns when nothing is left.
func (h *Host) Close() error {
	h.Mu.Lock()
	if h.closed {
		h.Mu.Unlock()
		return nil
	}
	h.closed = true
	h.stopped()
	h.Mu.Unlock()
	if h.claim != nil {
		h.claim.Close()
	}
	for _, s := range h.servers {
		s.Close()
	}
	h.work.Wait() // a machine that was just starting has its processes now
	for m := range h.running {
		m.End(0)
		m.Remove()
	}
	if h.made {
		return os.RemoveAll(h.root)
	}
	return nil
}

// Later does fn after d, with the lock held, unless the Host is closed by then.
func (h *Host) Later(d time.Duration, fn func()) {
	time.AfterFunc(d, func() {
		h.Mu.Lock()
		defer h.Mu.Unlock()
		if !h.closed {
			fn()
		}
	})
}

// Boot starts a machine, and calls failed if that does not work. It makes the machine's directory. The lock is held.
func (h *Host) Boot(spec Spec, failed func()) *Machine {
	dir, err := h.dir(spec.ID)
	spec.Dir, spec.closed = dir, h.stop.Done()
	m := newMachine(spec)
	m.ordered = func(args []string) { h.ordered(m, args) }
	h.running[m] = true
	h.work.Go(func() {
		if err = errors.Join(err, m.start(err == nil)); err != nil {
			h.Log.Error("start the machine", "machine", spec.ID, "err", err)
			h.Mu.Lock()
			defer h.Mu.Unlock()
			failed()
		}
	})
	return m
}

// Stop ends the processes of a machine, and does then with the lock held. The lock is held.
func (h *Host) Stop(m *Machine, grace time.Duration, then func()) {
	h.work.Go(func() {
		m.End(grace)
		last := m.Console()
		m.Remove()
		h.Mu.Lock()
		defer h.Mu.Unlock()
		m.last = last
		delete(h.running, m)
		if !h.closed {
			then()
		}
	})
}

// ordered does what the machine's own shutdown, poweroff, halt or reboot command was called with.
func (h *Host) ordered(m *Machine, args []string) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	m.orders++
	delay, cancel, reboot := parseShutdown(args)
	if cancel || h.closed {
		return
	}
	order := m.orders
	act := func() {
		if m.orders == order {
			m.spec.PowerOff(reboot)
		}
	}
	if delay == 0 {
		act()
	} else {
		h.Later(delay, act)
	}
}

// dir returns the directory of one machine, made. The lock is held.
func (h *Host) dir(id string) (string, error) {
	if h.root == "" {
		dir, err := os.MkdirTemp("", "fsub-cloud-")
		if err != nil {
			return "", err
		}
		h.root, h.made = dir, true
		if err := os.Chmod(dir, 0o755); err != nil { // the machines' users must get through
			return "", err
		}
	}
	dir := filepath.Join(h.root, id)
	return dir, os.MkdirAll(dir, 0o755)
}

// Address is the loopback address of the n-th machine.
func (h *Host) Address(n int) string {
	return fmt.Sprintf("127.%d.%d.%d", h.net, n/250%250+1, n%250+1)
}

// Net is the second byte of the machines' addresses.
func (h *Host) Net() byte { return h.net }

// takeNet finds the second byte of the addresses of a cloud's machines, which no other cloud on this machine has while claim is open. If all are taken, or
// nothing can listen, chance must do.
func takeNet() (net2 byte, claim net.Listener) {
	var first int
	fmt.Sscanf(RandomHex(2), "%x", &first)
	for i := range 128 {
		net2 = byte(64 + (first+i)%128)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.%d.0.1:18169", net2)); err == nil {
			return net2, l
		}
	}
	return net2, nil
}

// RandomHex returns n random hexadecimal digits.
func RandomHex(n int) string {
	b := make([]byte, (n+1)/2)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)[:n]
}

// UUID is a random UUID, as request IDs are.
func UUID() string {
	h := RandomHex(32)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Client is an HTTP client that reaches the cloud without a network, whatever the host in the URL: for thousands of calls, and for virtual time.
func (h *Host) Client() *http.Client { return &http.Client{Transport: transport{h}} }

type transport struct{ host *Host }

// RoundTrip calls the handler. A connection that the handler cuts ends as a real one does.
func (t transport) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	defer func() {
		if cut := recover(); cut == http.ErrAbortHandler {
			resp, err = nil, io.ErrUnexpectedEOF
			if r.Context().Err() != nil {
				err = r.Context().Err()
			}
		} else if cut != nil {
			panic(cut)
		}
	}()
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = io.NopCloser(strings.NewReader(""))
	}
	if in.Host == "" {
		in.Host = in.URL.Host
	}
	w := httptest.NewRecorder()
	t.host.Handler.ServeHTTP(w, in)
	resp = w.Result()
	resp.Request = r
	return resp, nil
}

package peer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"time"

	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/federation/tunnel"
)

const (
	// patience is how long a request waits for a daemon that leads: longer than a take-over, shorter than commands wait for an answer.
	patience = 20 * time.Second
	// again is after how long it is tried once more.
	again = 100 * time.Millisecond
	// mostBody is how large the body of a request may be that is kept for another try, mostBodies how large all of them together: whatever is more passes
	// through once.
	mostBody   = 4 << 20
	mostBodies = 256 << 20
)

// Forwarder answers requests by passing them on to the daemon that leads. While none does they wait. What is lost on its way is sent again if that does no
// harm: if it was not sent yet, reads only, or has a key under which it is carried out once.
type Forwarder struct {
	Page   string // where browsers find the page of this daemon; "": it has none
	proxy  *httputil.ReverseProxy
	asks   *retrying
	leader atomic.Pointer[route]
	why    atomic.Pointer[string] // nobody can lead
}

// route is a way to the leader. It ends when another daemon leads: whoever waits for an answer of one that was stopped need not wait for ever.
type route struct {
	address string
	ended   context.Context
	end     context.CancelFunc
}

// NewForwarder returns a Forwarder that knows no leader yet. It is for one side of a listener whose connections [identity.ConnContext] has seen.
func NewForwarder(k *Keys, log *slog.Logger) *Forwarder {
	f := new(Forwarder)
	transport := &http.Transport{DialTLSContext: k.dial, MaxIdleConnsPerHost: 256, IdleConnTimeout: time.Minute, DisableCompression: true}
	f.asks = &retrying{next: transport, leader: &f.leader}
	f.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Header.Del(identity.HeaderCaller)
			r.Out.Header.Del(identity.HeaderPage)
			if f.Page != "" {
				r.Out.Header.Set(identity.HeaderPage, f.Page)
			}
			if caller, known := identity.CallerOf(r.In.Context()); known {
				r.Out.Header.Set(identity.HeaderCaller, caller)
			}
		},
		Transport: f.asks, FlushInterval: -1, // logs that are followed come as they are written
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), ErrorHandler: f.refuse,
	}
	return f
}

// Follow says at which address the leader answers from now on; "": nobody knows.
func (f *Forwarder) Follow(address string) {
	if f.Leader() == address {
		return
	}
	r := &route{address: address}
	r.ended, r.end = context.WithCancel(context.Background())
	if was := f.leader.Swap(r); was != nil {
		was.end()
	}
}

// Explain says why nobody can lead, for whom waits; nil: nothing keeps daemons from it.
func (f *Forwarder) Explain(why error) {
	if why == nil {
		f.why.Store(nil)
		return
	}
	text := why.Error()
	f.why.Store(&text)
}

// Leader is the address of the leader; "": there is none that is known.
func (f *Forwarder) Leader() string {
	if r := f.leader.Load(); r != nil {
		return r.address
	}
	return ""
}

// ServeHTTP implements http.Handler.
func (f *Forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if tunnel.Asked(r) {
		w = tunnelWriter{w}
	}
	f.proxy.ServeHTTP(w, r)
}

// tunnelWriter answers a request for a tunnel.
type tunnelWriter struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (w tunnelWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		tunnel.Settle(c)
	}
	return c, rw, err
}

// Unwrap is for http.ResponseController.
func (w tunnelWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Get asks the leader for something in this daemon's own name, once. An answer that tag names need not be sent again.
func (f *Forwarder) Get(ctx context.Context, path, tag string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	if tag != "" {
		r.Header.Set("If-None-Match", tag)
	}
	return f.asks.once(r, nil)
}

var (
	errNoLeader   = errors.New("no daemon leads")
	errOtherLeads = errors.New("another daemon leads by now")
)

// refuse answers a request that could not be passed on. One with a key is carried out once, however often it is sent: sbatch tries again.
func (f *Forwarder) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the caller has gone
	}
	said := answer.TimedOut // clients take it that something may have been done
	if reads(r) || errors.Is(err, errNoLeader) || unsent(err) {
		said = answer.NoContact
	}
	if r.Header.Get(submission.HeaderKey) != "" {
		said = answer.NotNow
	}
	detail := "this daemon stands by, and the one that leads has not answered: " + err.Error()
	if why := f.why.Load(); why != nil {
		detail = "no daemon can lead: " + *why
	}
	w.Header().Set("Retry-After", "5")
	answer.Refusal(w, http.StatusServiceUnavailable, answer.Detailed(said, detail))
}

// retrying sends requests to the leader, whoever that is by then.
type retrying struct {
	next   http.RoundTripper
	leader *atomic.Pointer[route]
	kept   atomic.Int64 // bytes of bodies
}

// RoundTrip implements http.RoundTripper.
func (t *retrying) RoundTrip(r *http.Request) (*http.Response, error) {
	body, repeats, err := t.keep(r)
	defer t.kept.Add(-int64(len(body)))
	if err != nil {
		return nil, err
	}
	ctx, late := r.Context(), time.Now().Add(patience)
	for {
		resp, err := t.once(r, body)
		if err == nil {
			return resp, nil
		}
		if errors.Is(err, errStranger) || !repeats && !errors.Is(err, errNoLeader) && !unsent(err) || time.Now().After(late) || ctx.Err() != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(again):
		}
	}
}

func (t *retrying) once(r *http.Request, body []byte) (*http.Response, error) {
	to := t.leader.Load()
	if to == nil || to.address == "" {
		return nil, errNoLeader
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(to.ended, func() { cancel(errOtherLeads) })
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host = "https", to.address
	if body != nil {
		out.Body = io.NopCloser(bytes.NewReader(body))
		out.ContentLength = int64(len(body))
	} else if r.Body != nil {
		out.Body = &untouched{ReadCloser: r.Body}
	}
	resp, err := t.next.RoundTrip(out)
	if err != nil {
		stop()
		if errors.Is(context.Cause(ctx), errOtherLeads) {
			err = errOtherLeads
		}
		cancel(nil)
		return nil, err
	}
	end := func() { stop(); cancel(nil) }
	if c, ok := resp.Body.(tunnel.End); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		context.AfterFunc(ctx, func() { c.Close() }) // it is not the request's any more
		resp.Body = &tunnelBody{c, end}
		return resp, nil
	}
	resp.Body = &answerBody{resp.Body, end}
	return resp, nil
}

// answerBody is the body of an answer, which ends with its route.
type answerBody struct {
	io.ReadCloser
	end func()
}

// Close implements io.Closer.
func (b *answerBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// tunnelBody is a connection that was upgraded, which ends with its route.
type tunnelBody struct {
	tunnel.End
	end func()
}

// Close implements io.Closer.
func (b *tunnelBody) Close() error {
	defer b.end()
	return b.End.Close()
}

// keep reads the body of a request that may be sent again, and tells whether it may.
func (t *retrying) keep(r *http.Request) (body []byte, repeats bool, err error) {
	if repeats = reads(r) || r.Header.Get(submission.HeaderKey) != ""; !repeats || r.Body == nil || r.Body == http.NoBody {
		return nil, repeats, nil
	}
	body, err = io.ReadAll(io.LimitReader(r.Body, mostBody+1))
	if sum := t.kept.Add(int64(len(body))); err == nil && (len(body) > mostBody || sum > mostBodies) {
		t.kept.Add(-int64(len(body)))
		r.Body = &rest{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
		return nil, false, nil
	}
	r.Body.Close()
	return body, true, err
}

// rest is a body whose beginning was read already.
type rest struct {
	io.Reader
	io.Closer
}

// untouched keeps a body open when a connection could not be made: it is sent with the next try.
type untouched struct{ io.ReadCloser }

// Close implements io.Closer.
func (*untouched) Close() error { return nil }

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// unsent reports whether nothing of a request can have arrived.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, errStranger)
}

// Serve answers requests on l with h, in the names of their callers, until ctx is done; then it lets those in hand finish.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ConnContext: identity.ConnContext, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: v1.MaxHeader, IdleTimeout: 5 * time.Minute,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug)}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience+5*time.Second)
		defer cancel()
		stopped <- srv.Shutdown(ending)
	})
	err := srv.Serve(l)
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

// Package proxy is an HTTP proxy for tests that stands between the daemon and one slurmrestd and fails on demand: it loses
// replies after the site has acted, loses requests before, hangs, answers 502, or is slow. [New] makes one.
package proxy

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// Fault is what happens to one request.
type Fault int

const (
	Pass        Fault = iota
	LoseReply         // the site acts, the caller gets a broken connection
	LoseRequest       // the site never sees it, the caller gets a broken connection
	BadGateway        // the site never sees it, the caller gets a 502 without a body
	Hang              // the site never sees it, the caller waits until it gives up
)

// Proxy forwards to one site. Its methods may be called while it serves.
type Proxy struct {
	server *httptest.Server

	mu    sync.Mutex
	once  []Fault // for the next requests that change something
	rate  map[Fault]float64
	rand  *rand.Rand
	delay time.Duration
	count map[Fault]int
}

// New starts a proxy in front of the slurmrestd at site ("http://10.0.0.6:6820"). Close it when done. All chance comes from seed.
func New(site string, seed uint64) (*Proxy, error) {
	target, err := url.Parse(site)
	if err != nil {
		return nil, err
	}
	p := &Proxy{rate: map[Fault]float64{}, rand: rand.New(rand.NewPCG(seed, 0)), count: map[Fault]int{}}
	forward := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(forward, w, r) }))
	return p, nil
}

// URL is where the proxy listens.
func (p *Proxy) URL() string { return p.server.URL }

// Close stops it.
func (p *Proxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

// Next makes the next requests that change something (all but GET) fail in this way, one after the other.
func (p *Proxy) Next(faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.once = append(p.once, faults...)
}

// Rate makes a share of the requests that change something fail in this way from now on.
func (p *Proxy) Rate(f Fault, share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate[f] = share
}

// Delay makes every request wait before it goes to the site.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Count tells how many requests have met a fault.
func (p *Proxy) Count(f Fault) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count[f]
}

// choose decides the fate of a request.
func (p *Proxy) choose(r *http.Request) (Fault, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := Pass
	if r.Method != http.MethodGet {
		if len(p.once) > 0 {
			f, p.once = p.once[0], p.once[1:]
		} else {
			x := p.rand.Float64()
			for _, k := range []Fault{LoseReply, LoseRequest, BadGateway, Hang} {
				if x -= p.rate[k]; x < 0 && f == Pass {
					f = k
				}
			}
		}
	}
	p.count[f]++
	return f, p.delay
}

func (p *Proxy) serve(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	fault, delay := p.choose(r)
	time.Sleep(delay)
	switch fault {
	case LoseReply:
		forward.ServeHTTP(discard{http.Header{}}, r)
		panic(http.ErrAbortHandler) // closes the connection without an answer
	case LoseRequest:
		panic(http.ErrAbortHandler)
	case BadGateway:
		w.WriteHeader(http.StatusBadGateway)
	case Hang:
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is noticed
		<-r.Context().Done()
	default:
		forward.ServeHTTP(w, r)
	}
}

// discard takes the site's answer away.
type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

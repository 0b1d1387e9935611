// Package proxy is an HTTP proxy for tests that stands between the daemon and one slurmrestd and fails on demand: it loses
// replies after the site has acted, or half of them, loses requests before, hangs, or answers 502. [New] makes one.
package proxy

import (
	"bytes"
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// Fault is what happens to one request.
type Fault int

const (
	Pass        Fault = iota
	LoseReply         // the site acts, the caller gets a broken connection
	LoseRequest       // the site never sees it, the caller gets a broken connection
	CutReply          // the site acts, the caller gets half of the answer and a broken connection
	Swallow           // the site acts, the caller waits until it gives up
	BadGateway        // the site never sees it, the caller gets a 502 without a body
	Hang              // the site never sees it, the caller waits until it gives up
	faults
)

// Proxy forwards to one site. Its methods may be called while it serves.
type Proxy struct {
	server *httptest.Server

	mu          sync.Mutex
	once        []Fault // for the next requests that change something
	submits     []Fault // for the next submissions
	rate        map[Fault]float64
	reads       bool // may fail too
	rand        *rand.Rand
	count       map[Fault]int
	submissions map[Fault]int
}

// New starts a proxy in front of the slurmrestd at site ("http://10.0.0.6:6820"). Close it when done. All chance comes from seed.
func New(site string, seed uint64) (*Proxy, error) {
	target, err := url.Parse(site)
	if err != nil {
		return nil, err
	}
	p := &Proxy{rate: map[Fault]float64{}, rand: rand.New(rand.NewPCG(seed, 0)), count: map[Fault]int{}, submissions: map[Fault]int{}}
	forward := &httputil.ReverseProxy{
		Transport:    &http.Transport{MaxIdleConnsPerHost: 16},
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // the site gave no answer either
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

// NextSubmission makes the next submissions of jobs fail in this way, one after the other. What [Proxy.Next] has said of them comes first.
func (p *Proxy) NextSubmission(faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.submits = append(p.submits, faults...)
}

// Rate makes these shares of the requests that change something fail from now on, or with reads of all requests. Other faults end.
func (p *Proxy) Rate(share map[Fault]float64, reads bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate, p.reads = maps.Clone(share), reads
}

// Count tells how many requests have met a fault, and how many of them submitted a job.
func (p *Proxy) Count(f Fault) (requests, submissions int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count[f], p.submissions[f]
}

// choose decides the fate of a request.
func (p *Proxy) choose(r *http.Request) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := Pass
	changes := r.Method != http.MethodGet
	submits := changes && strings.HasSuffix(r.URL.Path, "/job/submit")
	if changes && len(p.once) > 0 {
		f, p.once = p.once[0], p.once[1:]
	} else if submits && len(p.submits) > 0 {
		f, p.submits = p.submits[0], p.submits[1:]
	} else if changes || p.reads {
		x := p.rand.Float64()
		for k := LoseReply; k < faults; k++ {
			if x -= p.rate[k]; x < 0 && f == Pass {
				f = k
			}
		}
	}
	p.count[f]++
	if submits {
		p.submissions[f]++
	}
	return f
}

func (p *Proxy) serve(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	sent, done := context.WithCancel(context.WithoutCancel(r.Context())) // what has left does not end when the caller goes away
	defer done()
	out := r.Clone(sent)
	out.Body = io.NopCloser(bytes.NewReader(body))
	fault := p.choose(r)
	switch fault {
	case Pass:
		forward.ServeHTTP(w, out)
		return
	case BadGateway:
		w.WriteHeader(http.StatusBadGateway)
		return
	case LoseReply, CutReply, Swallow:
		answer := httptest.NewRecorder()
		forward.ServeHTTP(answer, out)
		if fault == CutReply {
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
			http.NewResponseController(w).Flush()
		}
	}
	if fault == Swallow || fault == Hang {
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler) // closes the connection without an answer
}

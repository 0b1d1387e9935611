package once

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Odds are the chances, from 0 to 1, of what can happen to a request. At most one happens to each.
type Odds struct {
	LoseRequest float64 // the connection is closed before the site hears of it
	LoseReply   float64 // the site acts, and the connection is closed
	CutReply    float64 // the site acts, and half of its answer arrives
	SwallowIt   float64 // the site acts, and nothing more is heard on the connection
}

// Losses counts what has happened to submissions (POST of a job) and to all requests.
type Losses struct {
	Requests, Submissions         int // passed on, whole
	LostRequests, LostSubmissions int // never arrived
	LostReplies, LostReceipts     int // arrived, but their answer did not
}

// Proxy is an HTTP proxy in front of one slurmrestd that loses requests and answers as its Odds say.
type Proxy struct {
	target *url.URL
	server *http.Server
	url    string
	site   http.Transport

	mu     sync.Mutex
	rng    *rand.Rand
	odds   Odds
	losses Losses
}

// NewProxy starts a proxy on the loopback address in front of target, without faults.
func NewProxy(target string, seed uint64) (*Proxy, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: u, url: "http://" + l.Addr().String(), rng: rand.New(rand.NewPCG(seed, 1))}
	p.site.MaxIdleConnsPerHost = 16
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go p.server.Serve(l)
	return p, nil
}

// URL is where the proxy listens.
func (p *Proxy) URL() string { return p.url }

// Close ends the proxy and all connections.
func (p *Proxy) Close() {
	p.server.Close()
	p.site.CloseIdleConnections()
}

// SetOdds changes the odds for requests from now on. The zero Odds lose nothing.
func (p *Proxy) SetOdds(o Odds) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.odds = o
}

// Losses returns the counts so far.
func (p *Proxy) Losses() Losses {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.losses
}

type fate int

const (
	pass fate = iota
	loseRequest
	loseReply
	cutReply
	swallow
)

func (p *Proxy) fate() fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.rng.Float64()
	for f, odds := range []float64{loseRequest: p.odds.LoseRequest, loseReply: p.odds.LoseReply, cutReply: p.odds.CutReply, swallow: p.odds.SwallowIt} {
		if x < odds {
			return fate(f)
		}
		x -= odds
	}
	return pass
}

func (p *Proxy) count(f fate, submission bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, subs := &p.losses.LostReplies, &p.losses.LostReceipts
	switch f {
	case pass:
		all, subs = &p.losses.Requests, &p.losses.Submissions
	case loseRequest:
		all, subs = &p.losses.LostRequests, &p.losses.LostSubmissions
	}
	*all++
	if submission {
		*subs++
	}
}

// ServeHTTP passes a request on, or loses it or its answer.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	submission := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/job/submit")
	body, err := io.ReadAll(r.Body)
	f := p.fate()
	if err != nil || f == loseRequest {
		p.count(loseRequest, submission)
		panic(http.ErrAbortHandler)
	}
	resp, reply, err := p.ask(r, body)
	if err != nil { // the site itself gave no answer: neither does the proxy
		panic(http.ErrAbortHandler)
	}
	p.count(f, submission)
	switch f {
	case loseReply:
		panic(http.ErrAbortHandler)
	case swallow:
		<-r.Context().Done() // the caller has given up
		panic(http.ErrAbortHandler)
	}
	for k, v := range resp.Header {
		w.Header()[k] = v
	}
	w.Header().Del("Connection")
	w.WriteHeader(resp.StatusCode)
	if f == cutReply {
		w.Write(reply[:len(reply)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.Write(reply)
}

// ask sends the request to the site and reads its whole answer. It does not end when the caller goes away: the request has left.
func (p *Proxy) ask(r *http.Request, body []byte) (*http.Response, []byte, error) {
	req, err := http.NewRequest(r.Method, p.target.String()+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header = r.Header.Clone()
	resp, err := p.site.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	return resp, reply, err
}

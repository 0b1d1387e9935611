package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// attacker is one hostile user.
type attacker struct {
	socket string
	http   *http.Client
	remote fromElsewhere
	page   atBrowser

	mu    sync.Mutex
	count map[string]map[string]int // kind of attack, how it was answered
	jobs  []federation.JobID        // some of his own
	begun string                    // the secret of a sign-in that he has begun
}

// attacks are all kinds, each with how many of it go on at a time, and what is done once.
var attacks = map[string]struct {
	n    int
	once func(*attacker, context.Context, *rand.Rand) string
}{
	"small jobs":     {4, (*attacker).submit},
	"arrays":         {1, (*attacker).arrays},
	"batches":        {2, (*attacker).batches},
	"environments":   {3, (*attacker).environments},
	"large specs":    {1, (*attacker).largeSpecs},
	"--test-only":    {2, (*attacker).testOnly},
	"unread answers": {8, (*attacker).unread},
	"whole queue":    {8, (*attacker).wholeQueue},
	"stalled bodies": {6, (*attacker).stalledBody},
	"slow headers":   {6, (*attacker).slowHeader},
	"connections":    {1, (*attacker).connections},
	"changes":        {3, (*attacker).change},
	"operations":     {1, (*attacker).operations},
	"long polls":     {20, (*attacker).longPoll},
	"explanations":   {3, (*attacker).explain},
	"reports":        {2, (*attacker).reports},
	"what-if":        {1, (*attacker).whatIf},
	"tokens":         {2, (*attacker).tokens},
	"guesses":        {4, (*attacker).guesses},
	"sign-ins":       {2, (*attacker).signIns},
	"accounting":     {2, (*attacker).accounting},
	"garbage":        {2, (*attacker).garbage},
	"page":           {6, (*attacker).browse},
	"tunnels":        {4, (*attacker).tunnel},
	"too large":      {1, (*attacker).tooLarge},
}

// attack attacks until its time is over, and writes down how it was answered.
func attack(socket string) {
	span, err := time.ParseDuration(os.Getenv("SPAN"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	a := &attacker{socket: socket, count: map[string]map[string]int{}, http: overSocket(socket)}
	ctx, cancel := context.WithTimeout(context.Background(), span)
	defer cancel()
	only := os.Getenv("ONLY") // for whoever looks for the one that does harm
	var wg sync.WaitGroup
	for kind, k := range attacks {
		for i := range k.n {
			if only != "" && !strings.Contains(","+only+",", ","+kind+",") {
				continue
			}
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			wg.Go(func() {
				for ctx.Err() == nil {
					if said := k.once(a, ctx, r); ctx.Err() == nil {
						a.tell(kind, said)
					}
				}
			})
		}
	}
	wg.Wait()
	json.NewEncoder(os.Stdout).Encode(a.count)
}

// overSocket is a client whose requests all go to a socket.
func overSocket(socket string) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 100}}
}

func (a *attacker) tell(kind, said string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count[kind] == nil {
		a.count[kind] = map[string]int{}
	}
	a.count[kind][said]++
}

// batches submits jobs together: many that depend on many, such as go round in a ring, and such whose scripts come to more than anybody may have.
func (a *attacker) batches(ctx context.Context, r *rand.Rand) string {
	var body bytes.Buffer
	n := 1 + r.IntN(20_000)
	kind := r.IntN(4)
	script := "#!/bin/sh\n" + strings.Repeat("#", r.IntN(1<<uint(r.IntN(20))+1))
	for i := range n {
		entry := v1.BatchEntry{Name: fmt.Sprint("e", i), Spec: sbatch.Spec{WorkDir: "/tmp", Hold: true}, PayloadOf: "e0"}
		if i == 0 {
			entry.Payload, entry.PayloadOf = sbatch.Payload{Script: script, Environment: []string{"A=b"}}, ""
		}
		if i > 0 {
			entry.Spec.Dependency = fmt.Sprintf("afterany:@e%d:@e%d", r.IntN(i), i-1)
		}
		if kind == 1 && i == n-1 {
			entry.Name = "other"
		}
		if kind == 2 && i == 0 {
			entry.Spec.Dependency = fmt.Sprintf("afterok:@e%d", n-1)
		}
		if text, err := json.Marshal(entry); err == nil {
			body.Write(append(text, '\n'))
		}
	}
	if kind == 3 {
		body.Truncate(body.Len() / 2)
	}
	return a.call(ctx, "POST", "/fed/v1/jobs/submit", bytes.NewReader(body.Bytes()))
}

// send sends a request.
func (a *attacker) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case io.Reader:
		in = b
	default:
		text, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		in = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://fsub"+path, in)
	if err != nil {
		panic(err)
	}
	return a.http.Do(r)
}

// call sends a request, throws the answer away as it comes, and returns its status. Of what was submitted it keeps the number.
func (a *attacker) call(ctx context.Context, method, path string, body any) string {
	resp, err := a.send(ctx, method, path, body)
	if err != nil {
		time.Sleep(10 * time.Millisecond) // its connections are at their bound
		return "cut"
	}
	defer resp.Body.Close()
	if path == "/fed/v1/job" && resp.StatusCode == http.StatusOK {
		var out v1.SubmitResponse
		if json.NewDecoder(resp.Body).Decode(&out) == nil && out.JobID != 0 {
			a.keep(out.JobID)
		}
	}
	begins, err := io.ReadAll(io.LimitReader(resp.Body, 300))
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	switch {
	case err != nil:
		return "broken"
	case resp.StatusCode == 500 && !strings.HasPrefix(path, "/slurm"): // where slurmrestd says so of what it refuses
		return fmt.Sprintf("%d %s", resp.StatusCode, begins)
	}
	return strconv.Itoa(resp.StatusCode)
}

func (a *attacker) keep(id federation.JobID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.jobs) < 1000 {
		a.jobs = append(a.jobs, id)
	} else {
		a.jobs[rand.IntN(len(a.jobs))] = id
	}
}

// one of his jobs, 1 if he has none.
func (a *attacker) one(r *rand.Rand) federation.JobID {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.jobs) == 0 {
		return 1
	}
	return a.jobs[r.IntN(len(a.jobs))]
}

// job is a submission; its site lets it run for twenty seconds.
func job(r *rand.Rand, change func(*v1.SubmitRequest)) v1.SubmitRequest {
	q := v1.SubmitRequest{Spec: sbatch.Spec{Name: fmt.Sprint("hostile", r.IntN(1000)), WorkDir: "/"},
		Payload: sbatch.Payload{Script: "#!/bin/sh\n#SIM run=20s\n", Environment: []string{"PATH=/bin"}}}
	if change != nil {
		change(&q)
	}
	return q
}

func (a *attacker) submit(ctx context.Context, r *rand.Rand) string {
	return a.call(ctx, "POST", "/fed/v1/job", job(r, nil))
}

func (a *attacker) arrays(ctx context.Context, r *rand.Rand) string {
	return a.call(ctx, "POST", "/fed/v1/job", job(r, func(q *v1.SubmitRequest) {
		q.Spec.Array = []string{"0-3999999", "0-999", "0-1000000:3,1-999999:7", "1-4000000%1"}[r.IntN(4)]
	}))
}

func (a *attacker) environments(ctx context.Context, r *rand.Rand) string {
	return a.call(ctx, "POST", "/fed/v1/job", job(r, func(q *v1.SubmitRequest) { q.Payload.Environment = []string{"A=" + noise(r, 11<<20)} }))
}

// noise is text that cannot be packed.
func noise(r *rand.Rand, n int) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
	b := make([]byte, 0, n+8)
	for len(b) < n {
		for x, i := r.Uint64(), 0; i < 8; i++ {
			b = append(b, letters[x&63])
			x >>= 6
		}
	}
	return string(b)
}

// largeSpecs are kept in memory: these are about as large as a job's may be.
func (a *attacker) largeSpecs(ctx context.Context, r *rand.Rand) string {
	return a.call(ctx, "POST", "/fed/v1/job", job(r, func(q *v1.SubmitRequest) {
		q.Spec.Comment, q.Spec.Hold = noise(r, 1000)[:1000], true
		if id := a.one(r); id > 1 {
			q.Spec.Dependency = "afterany:" + strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%d:", id), 9_000), ":")
		}
		for range 100 {
			q.Spec.Het = append(q.Spec.Het, sbatch.Spec{WorkDir: "/" + noise(r, 1000)[:1000], Comment: q.Spec.Comment, Output: noise(r, 1000)[:1000]})
		}
	}))
}

func (a *attacker) testOnly(ctx context.Context, r *rand.Rand) string {
	return a.call(ctx, "POST", "/fed/v1/job", job(r, func(q *v1.SubmitRequest) { q.TestOnly, q.Spec.MinNodes = true, 1+r.IntN(64) }))
}

var listings = []string{"/fed/v1/queue", "/slurm/v0.0.42/jobs", "/fed/v1/queue?sort=i,u,P&start=1", "/fed/v1/jobs", "/fed/v1/events?since=0"}

// unread asks for much and reads none of it, until it is cut off.
func (a *attacker) unread(ctx context.Context, r *rand.Rand) string {
	return a.hold(ctx, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", listings[r.IntN(len(listings))]), 0)
}

func (a *attacker) wholeQueue(ctx context.Context, r *rand.Rand) string {
	return a.call(ctx, "GET", listings[r.IntN(len(listings))], nil)
}

// stalledBody stops in the middle of a body, or lets it come by drops.
func (a *attacker) stalledBody(ctx context.Context, r *rand.Rand) string {
	return a.hold(ctx, fmt.Sprintf("POST /fed/v1/job HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{", 30<<20), r.IntN(2)*1000)
}

func (a *attacker) slowHeader(ctx context.Context, r *rand.Rand) string {
	return a.hold(ctx, "GET /fed/v1/queue HTTP/1.1\r\nHost: x\r\n", 1)
}

// hold says something, then some bytes a second, and reads nothing until the other end has closed.
func (a *attacker) hold(ctx context.Context, text string, perSecond int) string {
	c, err := new(net.Dialer).DialContext(ctx, "unix", a.socket)
	if err != nil {
		time.Sleep(10 * time.Millisecond)
		return "no connection"
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err := io.WriteString(c, text); err != nil {
		return "cut at once"
	}
	for began := time.Now(); time.Since(began) < time.Minute; {
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(time.Second):
		}
		if perSecond == 0 {
			continue
		}
		if _, err := c.Write(bytes.Repeat([]byte(" "), perSecond)); err != nil {
			return fmt.Sprintf("cut after %.0f s", time.Since(began).Round(10*time.Second).Seconds())
		}
	}
	return "held for a minute"
}

// connections opens as many as it gets and keeps them.
func (a *attacker) connections(ctx context.Context, _ *rand.Rand) string {
	if os.Getuid()%4 != 0 { // it takes them from his other attacks
		<-ctx.Done()
		return ""
	}
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	for range 1000 {
		c, err := new(net.Dialer).DialContext(ctx, "unix", a.socket)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			return "refused"
		}
		held = append(held, c)
	}
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Second):
	}
	return "held a thousand"
}

func (a *attacker) change(ctx context.Context, r *rand.Rand) string {
	var q v1.ActRequest
	for range 100 {
		q.Jobs = append(q.Jobs, v1.JobRef{ID: a.one(r)})
	}
	verb := []string{"hold", "release", "requeue", "update", "cancel", "signal", "top"}[r.IntN(7)]
	switch verb {
	case "update":
		q.Change = []sbatch.Change{{Key: "comment", Option: "comment", Value: strings.Repeat("x", r.IntN(1000))}}
	case "cancel":
		q.Jobs = q.Jobs[:3]
	case "signal":
		q.Signal.Name = "USR1"
	}
	return a.call(ctx, "POST", "/fed/v1/jobs/"+verb, q)
}

func (a *attacker) operations(ctx context.Context, r *rand.Rand) string {
	verb := []action.Kind{"hold", "release", "move"}[r.IntN(3)]
	return a.call(ctx, "POST", "/fed/v1/operations", v1.NewOperation{Verb: verb, Preview: r.IntN(2) == 0, Where: []string{"state=PENDING", fmt.Sprintf("name=*%d", r.IntN(1000))}})
}

func (a *attacker) longPoll(ctx context.Context, r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return a.hold(ctx, "GET /fed/v1/events?follow=1&since=0 HTTP/1.1\r\nHost: x\r\n\r\n", 0)
	}
	return a.call(ctx, "GET", fmt.Sprintf("/fed/v1/job/%d/wait", a.one(r)), nil)
}

func (a *attacker) explain(ctx context.Context, r *rand.Rand) string {
	return a.call(ctx, "GET", fmt.Sprintf("/fed/v1/job/%d%s", a.one(r), []string{"/explain", "", "/payload"}[r.IntN(3)]), nil)
}

func (a *attacker) reports(ctx context.Context, r *rand.Rand) string {
	name := fmt.Sprint("r", r.IntN(100))
	switch r.IntN(3) {
	case 0:
		return a.call(ctx, "POST", "/fed/v1/reports", v1.SavedReport{Name: name, Report: "usage", By: []string{"user", "account"}, Every: "day", Last: "30d", Format: "html"})
	case 1:
		return a.call(ctx, "POST", "/fed/v1/report/"+name+"/run", nil)
	}
	return a.call(ctx, "GET", "/fed/v1/books/sums?from=2000-01-01&every=day&by=site,account,user,qos,partition,gpu,name", nil)
}

func (a *attacker) tokens(ctx context.Context, r *rand.Rand) string {
	name := fmt.Sprint("t", r.IntN(100))
	switch r.IntN(3) {
	case 0:
		return a.call(ctx, "POST", "/fed/v1/tokens", v1.Token{Name: name, Scope: "submit", Lifetime: "1h"})
	case 1:
		return a.call(ctx, "DELETE", "/fed/v1/token/"+name, nil)
	}
	return a.call(ctx, "GET", "/fed/v1/tokens", nil)
}

func (a *attacker) whatIf(ctx context.Context, _ *rand.Rand) string {
	return a.call(ctx, "POST", "/fed/v1/what-if", map[string]any{})
}

func (a *attacker) accounting(ctx context.Context, r *rand.Rand) string {
	return a.call(ctx, "GET", []string{"/slurmdb/v0.0.42/jobs?start_time=0", "/fed/v1/accounting?start_time=0"}[r.IntN(2)], nil)
}

func (a *attacker) garbage(ctx context.Context, r *rand.Rand) string {
	text := []string{strings.Repeat("[", 1<<20), strings.Repeat(`{"spec":`, 100_000), "\x00\xff", `{"spec":{"ntasks":1e308}}`, "{}", `{"jobs":[` + strings.Repeat("{},", 300_000) + "{}]}"}[r.IntN(6)]
	path := []string{"/fed/v1/job", "/fed/v1/jobs/update", "/slurm/v0.0.42/job/submit", "/fed/v1/operations", "/fed/v1/reports", "/fed/v1/accounts", "/" + url.PathEscape(text[:min(len(text), 1000)])}[r.IntN(7)]
	return a.call(ctx, "POST", path, strings.NewReader(text))
}

// tunnel asks for a shell in a job, mostly of another user's, and then says nothing sensible.
func (a *attacker) tunnel(ctx context.Context, r *rand.Rand) string {
	return a.hold(ctx, fmt.Sprintf("POST /fed/v1/job/%d/tunnel HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: fsub-tunnel\r\n\r\n\x01\xff\xff\xff\xff\xff\xff\xff\xff", 30_000_000+r.IntN(1000)), r.IntN(2)*1000)
}

// tooLarge sends a body whose end it does not tell.
func (a *attacker) tooLarge(ctx context.Context, _ *rand.Rand) string {
	return a.call(ctx, "POST", "/fed/v1/job", io.MultiReader(strings.NewReader(`{"spec":{"name":"`), strings.NewReader(strings.Repeat("x", 33<<20)), strings.NewReader(`"}}`)))
}

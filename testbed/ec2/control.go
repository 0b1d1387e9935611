package ec2

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Control is what tests ask of a Cloud in another process, for a path of its own: POST /stock?type=g6.xlarge&zone=us-east-2a&market=spot&n=0,
// /quota?market=spot&n=64, /rate?action=RunInstances&per_second=1&burst=5, /deny?action=RunInstances, /fault?action=&kind=lose-reply&times=1&code=,
// /boot?type=&delay=5s&never=true&die=0.5, /clear; /notice?id=i-...&lead=2s (id=any: the oldest spot instance that has none), /rebalance, /kill, /freeze, /thaw with id.
// GET /instances and /calls (counts by action) answer JSON.
func (c *Cloud) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /instances", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, c.Instances()) })
	mux.HandleFunc("GET /calls", func(w http.ResponseWriter, _ *http.Request) {
		count := map[string]int{}
		for _, call := range c.Calls() {
			count[call.Action]++
		}
		writeJSON(w, count)
	})
	for verb, do := range controls {
		mux.HandleFunc("POST /"+verb, func(w http.ResponseWriter, r *http.Request) {
			q := query{Values: r.URL.Query()}
			err := do(c, &q)
			if q.err != nil {
				err = q.err
			}
			if err != nil {
				http.Error(w, verb+": "+err.Error(), http.StatusBadRequest)
				return
			}
			fmt.Fprintln(w, "ok")
		})
	}
	return mux
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// query reads values and keeps the first error.
type query struct {
	url.Values
	err error
}

func (q *query) int(key string) int { return parse(q, key, strconv.Atoi) }

func (q *query) float(key string) float64 {
	return parse(q, key, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

func (q *query) duration(key string) time.Duration { return parse(q, key, time.ParseDuration) }

func (q *query) pool() Pool {
	return Pool{Type: q.Get("type"), Zone: q.Get("zone"), Market: q.Get("market")}
}

// parse reads a value; absent is zero. Nothing is done once a value was bad: the verbs read first.
func parse[T any](q *query, key string, read func(string) (T, error)) (v T) {
	if s := q.Get(key); s != "" {
		var err error
		if v, err = read(s); err != nil && q.err == nil {
			q.err = fmt.Errorf("%s=%s is not good: %w", key, s, err)
		}
	}
	return v
}

var controls = map[string]func(*Cloud, *query) error{
	"stock": func(c *Cloud, q *query) error {
		n := q.int("n")
		return q.then(func() { c.SetStock(q.pool(), n) })
	},
	"quota": func(c *Cloud, q *query) error {
		n := q.int("n")
		return q.then(func() { c.SetQuota(q.Get("market"), n) })
	},
	"rate": func(c *Cloud, q *query) error {
		rate, burst := q.float("per_second"), q.int("burst")
		return q.then(func() { c.SetRate(q.Get("action"), rate, burst) })
	},
	"deny":  func(c *Cloud, q *query) error { c.Deny(q.Get("action")); return nil },
	"clear": func(c *Cloud, _ *query) error { c.ClearFaults(); return nil },
	"fault": func(c *Cloud, q *query) error {
		f := Fault{Action: q.Get("action"), Kind: FaultKind(q.Get("kind")), Times: q.int("times"), Code: q.Get("code"), Text: q.Get("text"), Status: q.int("status")}
		switch f.Kind {
		case Refuse, LoseRequest, LoseReply, Hang:
			return q.then(func() { c.Inject(f) })
		}
		return fmt.Errorf("kind is %q: refuse, lose-request, lose-reply or hang", f.Kind)
	},
	"boot": func(c *Cloud, q *query) error {
		b := Boot{Delay: q.duration("delay"), Never: q.Get("never") == "true", Die: q.float("die")}
		return q.then(func() { c.SetBoot(q.pool(), b) })
	},
	"notice": func(c *Cloud, q *query) error {
		lead, id := q.duration("lead"), q.Get("id")
		if id == "any" {
			id = c.unwarned()
		}
		if q.err != nil {
			return q.err
		}
		return c.SpotNotice(id, lead)
	},
	"rebalance": func(c *Cloud, q *query) error { return c.Rebalance(q.Get("id")) },
	"kill":      func(c *Cloud, q *query) error { return c.Kill(q.Get("id")) },
	"freeze":    func(c *Cloud, q *query) error { return c.Freeze(q.Get("id")) },
	"thaw":      func(c *Cloud, q *query) error { return c.Thaw(q.Get("id")) },
}

// then does fn if all values were good.
func (q *query) then(fn func()) error {
	if q.err == nil {
		fn()
	}
	return q.err
}

// unwarned is the oldest spot instance that runs and has no notice; "" without one.
func (c *Cloud) unwarned() string {
	for _, in := range c.Instances() {
		if in.Market == spot && in.State == running && in.Notice.IsZero() {
			return in.ID
		}
	}
	return ""
}

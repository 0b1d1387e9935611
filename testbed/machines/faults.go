package machines

import (
	"iter"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// FaultKind is what happens to a call.
type FaultKind string

const (
	Refuse      FaultKind = "refuse"       // an error is answered, nothing is done
	LoseRequest FaultKind = "lose-request" // the connection is cut, nothing is done
	LoseReply   FaultKind = "lose-reply"   // it is done, and then the connection is cut
	Hang        FaultKind = "hang"         // nothing is done or answered until the caller gives up
)

// Fault goes wrong with calls.
type Fault struct {
	Action string // "" is any
	Kind   FaultKind
	Times  int    // how many calls; 0: all until ClearFaults
	Code   string // with Refuse: "RequestLimitExceeded", "InternalError"
	Text   string // with Refuse; a usual sentence where empty
	Status int    // with Refuse; the usual one where 0
}

// Pool names instances by what they are. An empty field is any.
type Pool struct {
	Type   string
	Zone   string
	Market string // "on-demand", "spot", "capacity-block"
}

func (p Pool) match(q Pool) bool {
	return (p.Type == "" || p.Type == q.Type) && (p.Zone == "" || p.Zone == q.Zone) && (p.Market == "" || p.Market == q.Market)
}

// Boot is how instances come up.
type Boot struct {
	Delay time.Duration // longer than usual, from pending to running
	Never bool          // they are running, as far as the cloud knows, but their user data is never run
	Die   float64       // this part of each launch, rounded up, ends as it boots: the last ones
	Why   string        // the cloud's code for that; its usual one where empty

	Console string // what machines that never run their user data have on their consoles
	Broken  int    // GPUs of each machine that do not answer
}

// Faults is what goes wrong with a cloud, and the calls that it has got. The zero value is a good cloud.
type Faults struct {
	mu     sync.Mutex
	calls  []Call
	list   []*Fault
	stock  []stockRule
	quota  map[string]int // vCPUs by market
	rates  map[string]*rate.Limiter
	denied map[string]bool
	boots  []bootRule
}

type stockRule struct {
	pool Pool
	n    int
}

type bootRule struct {
	pool Pool
	boot Boot
}

// SetStock bounds how many instances of a pool can exist at one time: 0 is out of stock, less than 0 takes the bound away.
func (f *Faults) SetStock(p Pool, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stock = slices.DeleteFunc(f.stock, func(r stockRule) bool { return r.pool == p })
	if n >= 0 {
		f.stock = append(f.stock, stockRule{p, n})
	}
}

// SetQuota bounds the account's vCPUs in a market, "on-demand" or "spot"; less than 0 takes the bound away.
func (f *Faults) SetQuota(market string, vcpus int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.quota == nil {
		f.quota = map[string]int{}
	}
	f.quota[market] = vcpus
	if vcpus < 0 {
		delete(f.quota, market)
	}
}

// SetRate lets an action ("" for all together) be called so often and answers RequestLimitExceeded to the rest. perSecond <= 0 takes the bound away.
func (f *Faults) SetRate(action string, perSecond float64, burst int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rates == nil {
		f.rates = map[string]*rate.Limiter{}
	}
	f.rates[action] = rate.NewLimiter(rate.Limit(perSecond), burst)
	if perSecond <= 0 {
		delete(f.rates, action)
	}
}

// Deny takes the permission for some actions ("" for all, "pricing:GetProducts") from the credentials.
func (f *Faults) Deny(actions ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.denied == nil {
		f.denied = map[string]bool{}
	}
	for _, a := range actions {
		f.denied[a] = true
	}
}

// Inject adds a fault. The first that fits a call is its fault.
func (f *Faults) Inject(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, &fault)
}

// SetBoot says how instances of a pool come up from now on. The last rule that fits counts.
func (f *Faults) SetBoot(p Pool, b Boot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.boots = append(f.boots, bootRule{p, b})
}

// ClearFaults makes the cloud a good one again: stock, quota, rates, permissions and all.
func (f *Faults) ClearFaults() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list, f.stock, f.quota, f.rates, f.denied, f.boots = nil, nil, nil, nil, nil, nil
}

// take returns the fault of a call.
func (f *Faults) take(action string) *Fault {
	for i, fault := range f.list {
		if fault.Action != "" && fault.Action != action {
			continue
		}
		taken := *fault
		if fault.Times == 1 {
			f.list = slices.Delete(f.list, i, i+1)
		} else if fault.Times > 1 {
			fault.Times--
		}
		return &taken
	}
	return nil
}

// Allow reports whether the rates let a call through.
func (f *Faults) Allow(action string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range []string{action, ""} {
		if l := f.rates[key]; l != nil && !l.Allow() {
			return false
		}
	}
	return true
}

// Denied reports whether the credentials lack the permission for an action.
func (f *Faults) Denied(action string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.denied[action] || f.denied[""]
}

// Quota is how many vCPUs the account may have in a market, if that is bounded.
func (f *Faults) Quota(market string) (vcpus int, bounded bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	vcpus, bounded = f.quota[market]
	return vcpus, bounded
}

// InStock is how many more instances of a pool there are beside those that live.
func (f *Faults) InStock(p Pool, live iter.Seq[Pool]) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := math.MaxInt
	for _, rule := range f.stock {
		if !rule.pool.match(p) {
			continue
		}
		left := rule.n
		for other := range live {
			if rule.pool.match(other) {
				left--
			}
		}
		n = min(n, max(0, left))
	}
	return n
}

// BootOf is how instances of a pool come up.
func (f *Faults) BootOf(p Pool) Boot {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out Boot
	for _, r := range f.boots {
		if r.pool.match(p) {
			out = r.boot
		}
	}
	return out
}

// Cut ends the connection of a call whose request is lost, at once or when the caller gives up.
func (f *Fault) Cut(r *http.Request, closed <-chan struct{}) {
	switch {
	case f == nil:
	case f.Kind == Hang:
		select {
		case <-r.Context().Done():
		case <-closed:
		}
		panic(http.ErrAbortHandler)
	case f.Kind == LoseRequest:
		panic(http.ErrAbortHandler)
	}
}

// CutReply ends the connection of a call whose reply is lost.
func (f *Fault) CutReply() {
	if f != nil && f.Kind == LoseReply {
		panic(http.ErrAbortHandler)
	}
}

// Refuses reports whether the call is refused.
func (f *Fault) Refuses() bool { return f != nil && f.Kind == Refuse }

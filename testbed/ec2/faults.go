package ec2

import (
	"net/http"
	"slices"
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

func (f *Fault) refusal() error {
	e := &apiError{f.Status, f.Code, f.Text}
	if e.Status == 0 {
		e.Status = statusOf(f.Code)
	}
	str(&e.Text, textOf(f.Code))
	return e
}

// Pool names instances by what they are. An empty field is any.
type Pool struct {
	Type   string
	Zone   string
	Market string // "on-demand", "spot", "capacity-block"
}

func (p Pool) match(typ, zone, market string) bool {
	return (p.Type == "" || p.Type == typ) && (p.Zone == "" || p.Zone == zone) && (p.Market == "" || p.Market == market)
}

// Boot is how instances come up.
type Boot struct {
	Delay time.Duration // longer than usual, from pending to running
	Never bool          // they are running, as far as the cloud knows, but their user data is never run
	Die   float64       // this part of each launch, rounded up, ends as it boots: the last ones
}

type faults struct {
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
func (c *Cloud) SetStock(p Pool, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := &c.faults
	f.stock = slices.DeleteFunc(f.stock, func(r stockRule) bool { return r.pool == p })
	if n >= 0 {
		f.stock = append(f.stock, stockRule{p, n})
	}
}

// SetQuota bounds the account's vCPUs in a market, "on-demand" or "spot"; less than 0 takes the bound away.
func (c *Cloud) SetQuota(market string, vcpus int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faults.quota == nil {
		c.faults.quota = map[string]int{}
	}
	c.faults.quota[market] = vcpus
	if vcpus < 0 {
		delete(c.faults.quota, market)
	}
}

// SetRate lets an action ("" for all together) be called so often and answers RequestLimitExceeded to the rest. perSecond <= 0 takes the bound away.
func (c *Cloud) SetRate(action string, perSecond float64, burst int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faults.rates == nil {
		c.faults.rates = map[string]*rate.Limiter{}
	}
	c.faults.rates[action] = rate.NewLimiter(rate.Limit(perSecond), burst)
	if perSecond <= 0 {
		delete(c.faults.rates, action)
	}
}

// Deny takes the permission for some actions ("" for all, "pricing:GetProducts") from the credentials.
func (c *Cloud) Deny(actions ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faults.denied == nil {
		c.faults.denied = map[string]bool{}
	}
	for _, a := range actions {
		c.faults.denied[a] = true
	}
}

// Inject adds a fault. The first that fits a call is its fault.
func (c *Cloud) Inject(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.list = append(c.faults.list, &f)
}

// SetBoot says how instances of a pool come up from now on. The last rule that fits counts.
func (c *Cloud) SetBoot(p Pool, b Boot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.boots = append(c.faults.boots, bootRule{p, b})
}

// ClearFaults makes the cloud a good one again: stock, quota, rates, permissions and all.
func (c *Cloud) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = faults{}
}

// take returns the fault of a call.
func (f *faults) take(action string) *Fault {
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

// allow reports whether the rates let a call through.
func (f *faults) allow(action string, now time.Time) bool {
	for _, key := range []string{action, ""} {
		if l := f.rates[key]; l != nil && !l.AllowN(now, 1) {
			return false
		}
	}
	return true
}

func (f *faults) boot(typ, zone, market string) Boot {
	var out Boot
	for _, r := range f.boots {
		if r.pool.match(typ, zone, market) {
			out = r.boot
		}
	}
	return out
}

// cut ends the connection of a call whose request is lost, at once or when the caller gives up.
func (f *Fault) cut(r *http.Request, closed <-chan struct{}) {
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

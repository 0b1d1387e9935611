package prices

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"fsub/cloud/provider"
	"fsub/federation/decision"
	"fsub/federation/driver"
)

// Terms are what a contract makes of list prices.
type Terms struct {
	Discounts []Discount // of several that fit a machine the first counts
	Paid      []Paid
	// Disk is what a machine's disk costs per hour. It is paid whatever the machine is.
	Disk decision.Dollars
}

// Discount is a share that is taken off the list price.
type Discount struct {
	Types   string            // "p5.*"; "": all
	Markets []provider.Market // none: all
	Off     float64           // 0.25 is a quarter
}

// Paid is a commitment or a reservation by contract: so many machines that are paid for whether they run or not. One more costs nothing as long as one of them is idle.
type Paid struct {
	Name     string // of the contract, as operators know it
	Types    string // "a3-highgpu-8g"; may have *
	Region   string
	Machines int
	Until    time.Time // zero: open
}

// paidSuffix ends the IDs of offerings that are paid for.
const paidSuffix = "/paid"

// Wrap returns p with these terms: its offerings have the prices of the contract, and machines that are paid for are offered once more, at nothing but their disks. How
// many of those run is known from listings and from what was created since. What p can do beyond a Provider the result can too.
func (t Terms) Wrap(p provider.Provider, now func() time.Time) provider.Provider {
	if len(t.Discounts) == 0 && len(t.Paid) == 0 && t.Disk == 0 {
		return p
	}
	w := &terms{Provider: p, t: t, now: now, used: map[string]string{}, of: map[provider.InstanceID]string{}, places: map[string]provider.Offering{}}
	if top, ok := p.(provider.Topologist); ok {
		return &topology{w, top}
	}
	return w
}

type topology struct {
	*terms
	provider.Topologist
}

// terms is a Provider by contract.
type terms struct {
	provider.Provider
	t   Terms
	now func() time.Time

	mu     sync.Mutex
	used   map[string]string              // token#index of machines on a contract that were asked for since the last listing
	of     map[provider.InstanceID]string // the offerings of those that the last listing has
	places map[string]provider.Offering   // by ID
}

// Note is what the provider has to say of its machines.
func (w *terms) Note() string {
	if p, ok := w.Provider.(interface{ Note() string }); ok {
		return p.Note()
	}
	return ""
}

// Check implements [provider.Checker], for a Provider that does.
func (w *terms) Check(ctx context.Context) []driver.SiteCheck {
	if c, ok := w.Provider.(provider.Checker); ok {
		return c.Check(ctx)
	}
	return nil
}

// Console implements [provider.Consoler], for a Provider that does.
func (w *terms) Console(ctx context.Context, id provider.InstanceID) (string, error) {
	if c, ok := w.Provider.(provider.Consoler); ok {
		return c.Console(ctx, id)
	}
	return "", nil
}

func (w *terms) Offerings(ctx context.Context) ([]provider.Offering, error) {
	list, err := w.Provider.Offerings(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]provider.Offering, 0, len(list))
	for _, o := range list {
		if paid, left := w.paid(&o); paid != nil {
			p := o
			p.ID, p.Price, p.PriceFrom, p.Max = o.ID+paidSuffix, w.t.Disk, "paid for with "+paid.Name, left+w.running(o.ID+paidSuffix)
			if !paid.Until.IsZero() && (p.Until.IsZero() || paid.Until.Before(p.Until)) {
				p.Until = paid.Until
			}
			w.places[p.ID] = p
			if p.Max > 0 {
				out = append(out, p)
			}
		}
		out = append(out, w.t.apply(o))
	}
	slices.SortFunc(out, func(a, b provider.Offering) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// apply is an offering by contract.
func (t *Terms) apply(o provider.Offering) provider.Offering {
	for _, d := range t.Discounts {
		if ok, _ := path.Match(d.Types, o.Type); d.Types != "" && !ok || len(d.Markets) > 0 && !slices.Contains(d.Markets, o.Market) || o.Price == 0 {
			continue
		}
		o.Price *= decision.Dollars(1 - d.Off)
		o.PriceFrom += fmt.Sprintf(", less %g %%", d.Off*100)
		break
	}
	if t.Disk > 0 {
		o.Price += t.Disk
		o.PriceFrom += fmt.Sprintf(", with a disk for %s an hour", rate(t.Disk))
	}
	return o
}

// paid is the contract that an offering's machines may be on, and how many of its machines are idle.
func (w *terms) paid(o *provider.Offering) (*Paid, int) {
	if o.Market != provider.OnDemand {
		return nil, 0
	}
	for i := range w.t.Paid {
		p := &w.t.Paid[i]
		if ok, _ := path.Match(p.Types, o.Type); ok && (p.Region == "" || p.Region == o.Region) && (p.Until.IsZero() || w.now().Before(p.Until)) {
			return p, max(p.Machines-w.on(p), 0)
		}
	}
	return nil, 0
}

// on is how many machines are on a contract now.
func (w *terms) on(p *Paid) (n int) {
	count := func(id string) {
		if o, ok := w.places[id]; ok && o.PriceFrom == "paid for with "+p.Name {
			n++
		}
	}
	for _, id := range w.of {
		count(id)
	}
	for _, id := range w.used {
		count(id)
	}
	return n
}

// running is how many machines of an offering there are.
func (w *terms) running(id string) (n int) {
	for _, of := range w.of {
		if of == id {
			n++
		}
	}
	for _, of := range w.used {
		if of == id {
			n++
		}
	}
	return n
}

// Create asks for machines that are paid for as for any other, if so many of them are idle.
func (w *terms) Create(ctx context.Context, r provider.Request) ([]provider.Instance, error) {
	if !strings.HasSuffix(r.Offering.ID, paidSuffix) {
		return w.Provider.Create(ctx, r)
	}
	w.mu.Lock()
	first := fmt.Sprintf("%s#0", r.Token)
	if _, again := w.used[first]; !again {
		o := r.Offering
		if paid, left := w.paid(&o); paid == nil || left < r.Count {
			w.mu.Unlock()
			return nil, &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeOffering, Code: "PaidMachinesInUse", Text: "fewer machines are idle that are paid for"}
		}
		for i := range r.Count {
			w.used[fmt.Sprintf("%s#%d", r.Token, i)] = o.ID
		}
	}
	w.mu.Unlock()
	made, err := w.Provider.Create(ctx, r)
	if err != nil && !mayExist(provider.AsError(err).Kind) {
		w.mu.Lock()
		w.forget(r.Token)
		w.mu.Unlock()
	}
	return made, err
}

// mayExist reports whether machines may exist, or come to exist, after an error.
func mayExist(k provider.ErrorKind) bool {
	return k == provider.KindUnavailable || k == provider.KindThrottled || k == provider.KindPending || k == provider.KindConflict
}

func (w *terms) forget(token string) {
	for key := range w.used {
		if strings.HasPrefix(key, token+"#") {
			delete(w.used, key)
		}
	}
}

// Withdraw implements provider.Provider.
func (w *terms) Withdraw(ctx context.Context, token string) error {
	err := w.Provider.Withdraw(ctx, token)
	if err == nil {
		w.mu.Lock()
		w.forget(token)
		w.mu.Unlock()
	}
	return err
}

// List notes which machines are on a contract.
func (w *terms) List(ctx context.Context) ([]provider.Instance, error) {
	list, err := w.Provider.List(ctx)
	if err != nil {
		return list, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of = map[provider.InstanceID]string{}
	for _, in := range list {
		w.forget(in.Token) // it is listed from now on, or has ended
		if in.State != provider.InstanceEnded && strings.HasSuffix(in.Offering, paidSuffix) {
			w.of[in.ID] = in.Offering
		}
	}
	return list, nil
}

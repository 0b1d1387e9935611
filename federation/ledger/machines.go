package ledger

import (
	"context"
	"hash/fnv"
	"math"
	"strconv"
	"time"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/driver"
)

// MachineTeller tells which machines were rented.
type MachineTeller interface {
	// Machines returns those that are there, or ended at since or later, the newest first.
	Machines(ctx context.Context, site federation.SiteName, since time.Time, limit int) ([]driver.Machine, error)
}

const (
	machinesMark = "machines" // until when ended machines are booked, in Unix seconds
	mostMachines = 100_000
)

// Machines books what rented machines cost beyond what runs on them are charged: starting, waiting for the others of a gang, drained, ready without a job, or
// unknown to the books. A machine is booked when it has ended, on the account of the job that it was rented for, or ran last.
func (c *Collector) Machines(ctx context.Context) error {
	if c.Rented == nil {
		return nil
	}
	text, err := c.Books.BooksMark(ctx, machinesMark)
	if err != nil {
		return err
	}
	seconds, _ := strconv.ParseInt(text, 10, 64)
	now := c.Now()
	all, err := c.Rented.Machines(ctx, "", time.Unix(seconds, 0).Add(-time.Hour), mostMachines)
	if err != nil {
		return err
	}
	var entries []ledger.Entry
	for i := range all {
		if m := &all[i]; !m.Ended.IsZero() && !c.ended[string(m.Site)+"/"+m.ID] {
			some, err := c.overhead(ctx, m)
			if err != nil {
				return err
			}
			entries = append(entries, some...)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := c.Books.Book(ctx, entries, map[string]string{machinesMark: strconv.FormatInt(now.Unix(), 10)}); err != nil {
		return err
	}
	if len(c.ended) > mostMachines {
		clear(c.ended)
	}
	for i := range all {
		if !all[i].Ended.IsZero() {
			c.ended[string(all[i].Site)+"/"+all[i].ID] = true
		}
	}
	return nil
}

// overhead are the entries of one machine.
func (c *Collector) overhead(ctx context.Context, m *driver.Machine) ([]ledger.Entry, error) {
	g := ledger.Group{Site: string(m.Site), Partition: m.Pool}
	if m.Job != 0 {
		jobs, err := c.Store.Jobs(ctx, federation.JobQuery{IDs: []federation.JobID{m.Job}, Alone: true})
		if err != nil {
			return nil, err
		}
		if len(jobs) == 1 {
			g.Account, g.User, g.Name, g.JobGroup = jobs[0].Account, jobs[0].User, ledger.FoldName(jobs[0].Spec.Name), outerGroup(&jobs[0])
		}
	}
	tres := accounting.TRES{"node": 1}
	if m.CPUs > 0 {
		tres["cpu"] = int64(m.CPUs)
	}
	if m.GPUs > 0 {
		tres["gres/gpu"] = int64(m.GPUs)
		if m.GPUType != "" {
			tres["gres/gpu:"+m.GPUType] = int64(m.GPUs)
		}
		g.GPU = ledger.GPUType(tres)
	}
	h := fnv.New64a()
	h.Write([]byte(m.ID))
	id := ledger.ID{Site: string(m.Site), Kind: ledger.Machine, Job: int64(h.Sum64() >> 1), At: m.Created.Unix()}
	e := ledger.Entry{ID: id, Group: g, Source: ledger.FromBill, ReadAt: 1, TRES: tres.String(), State: "ended", CPUUsed: -1, GPUUsed: -1, PerHour: m.PricePerHour, Rented: true}
	if m.Stray {
		return uncharged(e, m, part{ledger.Leaked, m.IdleCost}), nil
	}
	starting := m.IdleCost
	if !m.Ready.IsZero() {
		starting = m.PricePerHour.For(m.Ready.Sub(m.Created))
	}
	return uncharged(e, m, part{ledger.Provisioning, starting}, part{ledger.GangWait, m.GangWait}, part{ledger.Drained, m.Drained}, part{ledger.Unused, m.IdleCost}), nil
}

// part is what became of an amount at most.
type part struct {
	fate ledger.Fate
	most accounting.Money
}

// uncharged shares out what a machine has cost and no run is charged. The entries come to that, to the second and to the millionth of a dollar: what is
// paid says for how long. They follow one another, since nobody told when each was.
func uncharged(e ledger.Entry, m *driver.Machine, parts ...part) (out []ledger.Entry) {
	taken := accounting.Money(0)
	seconds := func() int64 {
		if m.PricePerHour <= 0 {
			return 0
		}
		return int64(math.Round(taken.Dollars() / m.PricePerHour.Dollars() * 3600))
	}
	for _, p := range parts {
		amount := max(0, min(p.most, m.IdleCost-taken))
		if amount == 0 {
			continue
		}
		e.Start = m.Created.Unix() + seconds()
		taken += amount
		e.End, e.Amount, e.Fate, e.Task = m.Created.Unix()+seconds(), amount, p.fate, int64(p.fate)
		out = append(out, e)
	}
	return out
}

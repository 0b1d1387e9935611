package place

import (
	"strings"
	"time"

	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/federation/decision"
)

// data is what it takes to bring a job's inputs to where it runs: from the nearest place in dollars of those where each lies.
//
//	data = what the clouds that it comes from charge for each GB that leaves them
//	copy = the time that it takes, for which the job holds its nodes and is not done
//
// Jobs copy by themselves, so it is not part of their charge: the bill of the cloud has it.
type data struct {
	moves    []egress.Move
	took     time.Duration
	dollars  decision.Dollars // of what leaves
	copying  decision.Dollars // of the time
	results  egress.Move      // what comes home
	saves    egress.Move      // what is saved while it runs
	unbilled decision.Dollars // the part of all that nobody bills, or for which no price is known
}

// priceData fills that in.
func (c *runPrice) priceData(ms *members, sh *shape) {
	f := sh.like.Spec.Fed
	if f == nil {
		return
	}
	d, here := &c.data, c.place()
	for _, in := range f.Inputs {
		var best *egress.Move
		for _, at := range in.At {
			m, far := egress.Between(ms.placeOf(at), here, in.Bytes)
			if !far {
				best = nil
				break
			}
			if best == nil || m.Dollars < best.Dollars {
				best = &m
			}
		}
		if best == nil {
			continue
		}
		if in.Kept {
			best.Detail = "what it keeps: " + best.Detail
		}
		d.moves = append(d.moves, *best)
		d.took += best.Took
		d.dollars += decision.Dollars(best.Dollars)
		if best.Assumed {
			d.unbilled += decision.Dollars(best.Dollars)
		}
	}
	if len(d.moves) == 0 {
		return
	}
	waiting := c.waitCost(d.took, &ms.policy)
	d.copying, d.unbilled = waiting, d.unbilled+waiting
	if c.run > 0 {
		d.copying += c.cost * decision.Dollars(d.took.Hours()/c.run.Hours())
	}
	c.fixed += d.dollars + d.copying
}

// priceResults adds what it costs to bring home what the job writes, as far as it has said how much: #FSUB --stage-out-size. That is charged when they are there.
func (c *runPrice) priceResults(ms *members, sh *shape) {
	f := sh.like.Spec.Fed
	if f == nil || f.StageOutSize == 0 || len(f.StageOut) == 0 || c.site.site.Sees(sh.like.Spec.WorkDir) {
		return
	}
	m, ok := egress.Home(c.place(), ms.policy.Store, f.StageOutSize)
	if !ok {
		return
	}
	c.data.results = m
	if c.fixed += decision.Dollars(m.Dollars); m.Assumed {
		c.data.unbilled += decision.Dollars(m.Dollars)
	}
}

// priceSaves adds what it costs to save what the job keeps (#FSUB --keep) each time that it has written a checkpoint, by the length of the last copy; before the first one nothing is
// known. It is on the clouds' bills alone.
func (c *runPrice) priceSaves(ms *members, sh *shape) {
	f := sh.like.Spec.Fed
	if f == nil || len(f.Keep) == 0 || c.site.site.Sees(sh.like.Spec.WorkDir) {
		return
	}
	for _, in := range f.Inputs {
		if !in.Kept {
			continue
		}
		if m, ok := egress.Saving(c.place(), ms.policy.Store, in.Bytes, int(max(c.run/f.KeptEvery(), 1)), c.run); ok {
			c.data.saves = m
			c.fixed += decision.Dollars(m.Dollars)
			c.data.unbilled += decision.Dollars(m.Dollars)
		}
	}
}

// place says where the nodes are.
func (s *placement) place() egress.Site {
	zone := ""
	if r := s.rented(); r != nil {
		zone = r.Zone
	}
	return DataAt(s.site.site, zone)
}

// DataAt is where the data of a job at a site is. Where machines are in several regions, their zone says in which.
func DataAt(site *federation.Site, zone string) egress.Site {
	at := site.Data
	at.Name = string(site.Name)
	if i := strings.LastIndexByte(zone, '-'); i > 0 && strings.HasSuffix(at.Place, ":") {
		at.Place += zone[:i]
	}
	return at
}

// placeOf is where an input lies: at a site of that name, or in a region of a cloud.
func (ms *members) placeOf(name string) egress.Site {
	for _, st := range ms.sites {
		if string(st.site.Name) == name {
			s := st.site.Data
			s.Name = name
			return s
		}
	}
	return egress.Site{Place: name}
}

// dataTerms are the terms of an offer for what must be brought.
func (w wording) dataTerms() []decision.Term {
	d := &w.data
	var terms []decision.Term
	if len(d.moves) > 0 {
		var from []string
		for i := range d.moves {
			from = append(from, d.moves[i].Detail)
		}
		terms = append(terms, decision.Term{Name: "data", Amount: d.dollars, Detail: strings.Join(from, " + ")},
			decision.Term{Name: "copy", Amount: d.copying, Detail: spanText(d.took) + " at " + d.moves[0].Speed})
	}
	if d.saves.Dollars > 0 {
		terms = append(terms, decision.Term{Name: "keep", Amount: decision.Dollars(d.saves.Dollars), Detail: d.saves.Detail})
	}
	if d.results.Dollars > 0 {
		terms = append(terms, decision.Term{Name: "results", Amount: decision.Dollars(d.results.Dollars), Detail: d.results.Detail})
	}
	return terms
}

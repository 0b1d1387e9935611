package decision

import (
	"time"

	"fsub/federation/ident"
)

// Start is when and where a job that waits is expected to start, as things are.
type Start struct {
	Site   ident.SiteName `json:"site"`
	At     time.Time      `json:"start"`            // p50
	Within time.Time      `json:"within,omitzero"`  // p90; zero: not known
	Of     string         `json:"of"`               // what it was foretold from
	Unsure string         `json:"unsure,omitempty"` // why the p90 may not hold
	Total  Dollars        `json:"total"`            // what it would come to, with what its waiting is worth
	Price  Dollars        `json:"price"`            // of that, what is paid: see [Offer.Price]
}

// Starts are those that are known. Of an array it is that of the first task which waits.
type Starts map[ident.JobID]Start

// Begins is when and where a job starts that takes an offer: as it was when the offer was made, which is o.Wait before o.Start.
func (o *Offer) Begins() Start {
	f := o.Foreseen
	if f == nil {
		return Start{Site: o.Site, At: o.Start, Of: "from when its nodes are to be free", Total: o.Total, Price: o.Price()}
	}
	behind := 1.0 // others of ours that are to go there first
	if likely := f.Likely(); likely > 0 && o.Wait > 0 {
		behind = o.Wait.Seconds() / likely.Seconds()
	}
	return f.Start(o, behind, o.Start.Add(-o.Wait))
}

// Start is when a job starts at an offer's site by a forecast of now, times what is to be waited for others of ours.
func (f *Foreseen) Start(o *Offer, times float64, now time.Time) Start {
	after := func(d time.Duration) time.Time {
		return now.Add(time.Duration(float64(d) * times)).Truncate(time.Second)
	}
	return Start{Site: o.Site, At: after(f.P50), Within: after(f.P90), Of: f.Of, Unsure: f.Unsure, Total: o.Total, Price: o.Price()}
}

// NotBefore returns s, or what it comes to where nodes cannot be free before p50 and p90: see [Outlook.Bounds].
func (s Start) NotBefore(p50, p90 time.Time, of string) Start {
	high := s.Within
	if high.IsZero() {
		high = s.At
	}
	if s.At.Before(p50) {
		s.At, s.Of = p50.Truncate(time.Second), of
	}
	if high.Before(p90) {
		high = p90.Truncate(time.Second)
	}
	if high.After(s.At) {
		s.Within = high
	}
	return s
}

package v1

import (
	"fmt"
	"time"
)

// Daemon is one of the daemons that share the federation's database.
type Daemon struct {
	Name    string    `json:"name"`
	Address string    `json:"address,omitempty"` // where the other daemons reach it
	Leads   bool      `json:"leads"`             // it plans and speaks to the sites; the others pass on to it what they cannot answer
	Version string    `json:"version"`
	Since   time.Time `json:"since"`          // when it was started
	Silent  float64   `json:"silent"`         // seconds since it was last heard of; daemons say a word every two seconds
	Slow    bool      `json:"slow,omitempty"` // it leads, and the database takes so long for a commit that its lease is longer than usual
	// Lag is by how many seconds its lists of jobs were older than the database's, when it was last heard of; nil: it leads, or passes all requests on.
	Lag *float64 `json:"lag,omitempty"`
}

// Daemons lists the daemons.
var Daemons = Noun[Daemon, None]{
	Key:  func(x *Daemon) string { return key(x.Name) },
	Path: "/fed/v1/daemons", Who: ForAnybody, Doc: "The daemons that share the federation's database, and which of them leads",
	Empty: "this daemon shares its store with no other",
	Columns: []Column[Daemon]{
		{"NAME", func(d *Daemon) string { return d.Name }},
		{"ROLE", func(d *Daemon) string { return d.role() }},
		{"LAG", func(d *Daemon) string { return d.lag() }},
		{"ADDRESS", func(d *Daemon) string { return d.Address }},
		{"VERSION", func(d *Daemon) string { return d.Version }},
		{"SINCE", func(d *Daemon) string { return moment(d.Since) }},
	},
}

// silentAfter is after how many seconds without a word a daemon is thought to be gone.
const silentAfter = 5

// Gone reports whether the daemon has said nothing for so long that it must have ended.
func (d *Daemon) Gone() bool { return d.Silent > silentAfter }

func (d *Daemon) lag() string {
	if d.Lag == nil || d.Leads || d.Gone() {
		return ""
	}
	return fmt.Sprintf("%.1fs", *d.Lag)
}

func (d *Daemon) role() string {
	switch {
	case d.Leads && d.Slow:
		return "leads (slow database)"
	case d.Leads:
		return "leads"
	case d.Gone():
		return fmt.Sprintf("silent for %s", (time.Duration(d.Silent) * time.Second).Round(time.Second))
	case d.Lag == nil: // it passes all requests on, or it led a moment ago and has ended
		return "not ready"
	}
	return "stands by"
}

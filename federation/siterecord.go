package federation

import (
	"context"
	"time"

	"fsub/federation/audit"
)

// SiteRecord is what operators said of a site.
type SiteRecord struct {
	Name   SiteName
	State  FedState
	Reason string
	By     string
	At     time.Time
	// Lost: the site is gone and nothing runs there any more, since an operator said so at this time. Zero: nobody has.
	Lost time.Time
}

// Word is what the record says in one word, for people: LOST or the FedState.
func (r *SiteRecord) Word() string {
	if !r.Lost.IsZero() {
		return string(CondLost)
	}
	return string(r.State)
}

// SiteEvent is a line of a site's history: what an operator said of it, or a condition that began or ended.
type SiteEvent struct {
	Site     SiteName
	At       time.Time
	Who      string // an operator; "": the federation has seen it
	From, To string // FedStates; of a condition its name or "OK"; of a maintenance "" and MAINTENANCE or the other way round
	Why      string
}

// Maintenance is a time in which nodes of a site are not to run jobs. It is planned around: no job is placed that would run into it.
type Maintenance struct {
	ID     int64 // the store's
	Site   SiteName
	Nodes  string // hostlist of the site's own names; "": all that it has
	From   time.Time
	To     time.Time
	Reason string
	By     string
	At     time.Time // when it was planned
}

// ReservationName is how placement and people see a maintenance at its site.
func (m *Maintenance) ReservationName() string {
	if m.Reason == "" {
		return "maintenance"
	}
	return "maintenance: " + m.Reason
}

// SiteStore keeps what operators said of sites and plan there, and the history of sites. With a change goes what the audit log is to say of it.
type SiteStore interface {
	// SiteState and SetSiteState keep the last word on each site. What was said goes into the site's history too.
	SiteState(ctx context.Context) (map[SiteName]SiteRecord, error)
	SetSiteState(ctx context.Context, r SiteRecord, audit ...audit.Entry) error

	// SiteEvents returns the newest lines of a site's history, at most limit of them, oldest first.
	SiteEvents(ctx context.Context, site SiteName, limit int) ([]SiteEvent, error)

	// Maintenance returns what is planned and not over at a time, in order of From.
	Maintenance(ctx context.Context, at time.Time) ([]Maintenance, error)
	// AddMaintenance plans one and gives it its ID.
	AddMaintenance(ctx context.Context, m *Maintenance, audit ...audit.Entry) error
	// RemoveMaintenance takes one back. ErrNotFound: there is none of that ID, or it was taken back before.
	RemoveMaintenance(ctx context.Context, id int64, by string, at time.Time, audit ...audit.Entry) error
}

package v1

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
)

// SetSiteState changes a site's standing in the federation.
type SetSiteState struct {
	State federation.FedState `json:"state"` // ACTIVE, INACTIVE, DRAIN or DRAIN+REMOVE. A site that is lost keeps DRAIN+REMOVE, and is DRAIN otherwise
	// Lost says that the site is gone and that nothing runs there any more: its jobs go elsewhere.
	Lost   bool   `json:"lost,omitempty"`
	Reason string `json:"reason,omitempty"` // a site that is lost needs one
}

// SiteSet is what was made of a site's standing. It is durable.
type SiteSet struct {
	Name    federation.SiteName `json:"name"`
	State   string              `json:"state"` // a FedState, or LOST
	Was     string              `json:"was"`
	Reason  string              `json:"reason,omitempty"`
	By      string              `json:"state_by"`
	Running int                 `json:"jobs_running"` // jobs of the federation that hold nodes there
	Bound   int                 `json:"jobs_bound"`   // those that wait there
}

// Condition is something that is wrong with a site.
type Condition struct {
	Name   federation.ConditionName `json:"name"`
	Since  time.Time                `json:"since"`
	Detail string                   `json:"detail,omitempty"` // what the site said, or what was seen
	Advice string                   `json:"advice"`           // what it means, and what to do
}

// SiteDetail is a site with its history and what is planned there.
type SiteDetail struct {
	Site
	By          string        `json:"state_by,omitempty"` // who has set its state
	At          time.Time     `json:"state_since,omitzero"`
	Maintenance []Maintenance `json:"maintenance"`
	History     []SiteWas     `json:"history"` // oldest first
	// Accounts tell which jobs run there under another account than the one that pays for them, of those that the caller may see.
	Accounts []string `json:"accounts,omitempty"`
}

// SiteWas is a line of a site's history.
type SiteWas struct {
	Time time.Time `json:"time"`
	Who  string    `json:"who,omitempty"` // an operator; "": the federation has seen it
	From string    `json:"from"`
	To   string    `json:"to"`
	Why  string    `json:"why,omitempty"`
}

// Maintenance is a time in which nodes of a site are not to run jobs.
type Maintenance struct {
	ID     int64               `json:"id"` // the daemon's to give
	Site   federation.SiteName `json:"site"`
	Nodes  string              `json:"nodes,omitempty"` // hostlist; "": all of the site's
	From   time.Time           `json:"from"`
	To     time.Time           `json:"to"`
	Reason string              `json:"reason"`
	By     string              `json:"by,omitempty"`
}

// MaintenanceOf is m as the API tells it.
func MaintenanceOf(m *federation.Maintenance) Maintenance {
	return Maintenance{ID: m.ID, Site: m.Site, Nodes: m.Nodes, From: m.From, To: m.To, Reason: m.Reason, By: m.By}
}

// SiteCheck is one thing that was tried at a site.
type SiteCheck struct {
	Name   string             `json:"name"` // address, TLS, token ...
	Result driver.CheckResult `json:"result"`
	Detail string             `json:"detail"`
	Advice string             `json:"advice,omitempty"` // what to do, where something is to be done
}

// AddSite is a site that is to be a member of the federation from now on.
type AddSite struct {
	Config string `json:"config"`          // YAML: one entry of sites in the daemon's configuration
	Force  bool   `json:"force,omitempty"` // though it does not pass the checks of /fed/v1/site/{name}/test
}

// UpdateSite changes how a site is described that was added while the daemon ran.
type UpdateSite struct {
	Config string   `json:"config,omitempty"` // YAML: the whole entry; or
	Set    []string `json:"set,omitempty"`    // some of its keys: KEY=VALUE, the value as in YAML
	Force  bool     `json:"force,omitempty"`  // though it does not pass the checks
}

// SiteQuery is which sites are listed.
type SiteQuery struct {
	Removed bool `query:"removed" doc:"1: those too that have left it" flag:"removed" usage:"also those that have left the federation"`
}

// Sites are the members of the federation.
var Sites = Noun[Site, SiteQuery]{
	Key:  func(x *Site) string { return key(x.Name) },
	Path: "/fed/v1/sites", Who: ForAnybody, Doc: "The members of the federation",
	Columns: []Column[Site]{
		{"SITE", func(x *Site) string { return string(x.Name) }},
		{"STATE", func(x *Site) string { return string(x.State) }},
		{"HEALTH", func(x *Site) string { return x.Health() }},
		{"AGE", func(x *Site) string { return since(x.Seen) }},
		{"SLURM", func(x *Site) string { return x.Version }},
		{"MODE", func(x *Site) string { return string(x.Mode) }},
		{"NODES", func(x *Site) string { return strconv.Itoa(x.Nodes) }},
		{"IDLE", func(x *Site) string { return strconv.Itoa(x.NodesIdle) }},
		{"GPUS", func(x *Site) string { return strconv.Itoa(x.GPUs) }},
		{"FREE", func(x *Site) string { return strconv.Itoa(x.GPUsFree) }},
		{"RUNNING", func(x *Site) string { return strconv.Itoa(x.Running) }},
		{"BOUND", func(x *Site) string { return strconv.Itoa(x.Bound) }},
		{"REASON", func(x *Site) string { return oneLine(x.reasons()) }},
	},
}

// Text tells how whole the free GPUs are: "13 h100: 8 on free nodes, 0 on free leaves; 23 % fragmented".
func (f *FreeGPUs) Text() string {
	text := fmt.Sprintf("%d %s: %d on free nodes", f.Free, f.Type, f.OnNodes)
	if f.Leaves > 0 {
		text += fmt.Sprintf(", %d on free leaves", f.OnLeaves)
	}
	if f.Blocks > 0 {
		text += fmt.Sprintf(", %d on free blocks", f.OnBlocks)
	}
	return text + fmt.Sprintf("; %.0f %% fragmented", 100*f.Fragmented)
}

// Health is what is wrong with a site, in one word for each condition.
func (s *Site) Health() string {
	switch {
	case s.State == federation.FedRemoved:
		return ""
	case len(s.Conditions) == 0 && s.Answering:
		return "ok"
	case len(s.Conditions) == 0: // the daemon has made no round yet
		return "NOT SEEN"
	}
	var names []string
	for _, c := range s.Conditions {
		names = append(names, strings.ReplaceAll(string(c.Name), "_", " "))
	}
	return strings.Join(names, ", ")
}

// reasons are why its state was set, and what the site said.
func (s *Site) reasons() string {
	var reasons []string
	if s.StateWhy != "" && s.StateWhy != "added" {
		reasons = append(reasons, s.StateWhy)
	}
	if s.Error != "" {
		reasons = append(reasons, s.Error)
	}
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Detail != "" && c.Detail != s.Error {
			reasons = append(reasons, c.Detail)
		}
	}
	if len(s.Warnings) > 0 { // fed site show has them
		reasons = append(reasons, "warning")
	}
	return strings.Join(reasons, "; ")
}

// Maintenances are what is planned at sites.
var Maintenances = Noun[Maintenance, None]{
	Key:  func(x *Maintenance) string { return numberKey(x.ID) },
	Path: "/fed/v1/maintenance", Who: ForAnybody, Doc: "Planned maintenance that is not over",
	Columns: []Column[Maintenance]{
		{"ID", func(x *Maintenance) string { return strconv.FormatInt(x.ID, 10) }},
		{"SITE", func(x *Maintenance) string { return string(x.Site) }},
		{"NODES", func(x *Maintenance) string { return cmp.Or(x.Nodes, "all nodes") }},
		{"FROM", func(x *Maintenance) string { return moment(x.From) }},
		{"TO", func(x *Maintenance) string { return moment(x.To) }},
		{"BY", func(x *Maintenance) string { return x.By }},
		{"REASON", func(x *Maintenance) string { return x.Reason }},
	},
}

package v1

import (
	"math"
	"slices"

	"fsub/slurm/wire"
)

// Association is a user's right to charge an account at a site, or, without a user, the account as the site has it.
type Association struct {
	Cluster       string   `json:"cluster"`
	Account       string   `json:"account"`
	ParentAccount string   `json:"parent_account,omitempty"` // of an account
	User          string   `json:"user,omitempty"`
	UID           *uint32  `json:"uid,omitempty"` // of the user, where this machine knows it
	Partition     string   `json:"partition,omitempty"`
	QOS           []string `json:"qos,omitempty"`
	DefaultQOS    string   `json:"default_qos,omitempty"`
	Default       bool     `json:"is_default,omitempty"`
	ID            int64    `json:"id"`
	Shares        int64    `json:"shares_raw"`
	// Usage is how it stands by what was used; nil: not told.
	Usage *ShareUsage `json:"usage,omitempty"`
}

// ShareUsage is how an association stands by what it has used, in sshare's words.
type ShareUsage struct {
	NormShares float64 `json:"norm_shares"`
	Raw        float64 `json:"raw_usage"`
	Norm       float64 `json:"norm_usage"`
	Effective  float64 `json:"effective_usage"`
	FairShare  float64 `json:"fairshare"` // of a user
	LevelFS    float64 `json:"level_fs"`  // -1: infinite, for nothing was used
}

// LevelFS is a level fair-share as JSON can hold it: -1 for infinity.
func LevelFS(f float64) float64 {
	if math.IsInf(f, 0) {
		return -1
	}
	return f
}

// AccountingCluster is a site as the accounting names it.
type AccountingCluster struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	TRES    []wire.TRES `json:"tres"` // the kinds that its nodes have
	// Enforced: who has no association there may not run there.
	Enforced bool `json:"enforced"`
}

// Associations answers GET /fed/v1/associations: those of all sites as the daemon last saw them, site by site and account by account.
type Associations struct {
	Clusters     []AccountingCluster `json:"clusters"`
	Associations []Association       `json:"associations"`
	wire.Reply
}

// QOS are the names of all QOS in use, in the order of the alphabet.
func (a *Associations) QOS() []string {
	var out []string
	for i := range a.Associations {
		out = append(out, a.Associations[i].QOS...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

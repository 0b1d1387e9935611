package v1

import (
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// WhatIf asks what would become of the jobs that wait if something were different.
type WhatIf struct {
	Drain    []string `json:"drain,omitempty"`     // SITE or SITE/HOSTLIST
	Resume   []string `json:"resume,omitempty"`    // the same
	Add      []string `json:"add,omitempty"`       // SITE=N or SITE/PARTITION=N: nodes more, like the first there
	Site     []string `json:"site,omitempty"`      // a site more: NAME=NODES[xGPUS[:TYPE]][,price=DOLLARS]...
	Price    []string `json:"price,omitempty"`     // SITE:TRES=DOLLARS by the hour
	Policy   []string `json:"policy,omitempty"`    // KEY=VALUE of the configuration's section policy
	Lift     []string `json:"lift,omitempty"`      // accounts whose limits do not count
	Limit    []string `json:"limit,omitempty"`     // ACCOUNT:OPTION=VALUE or ACCOUNT/USER:OPTION=VALUE: another limit or budget
	QOSLimit []string `json:"qos_limit,omitempty"` // QOS:OPTION=VALUE: another limit of a QOS
	Jobs     int      `json:"jobs,omitempty"`      // of the queue, so many; 2000 if not given
	Hours    int      `json:"hours,omitempty"`     // how far to look; 720 if not given
}

// WhatIfAnswer is what would change. Starts and costs are forecasts: jobs are reckoned to run as long as half of those like them.
type WhatIfAnswer struct {
	Now         time.Time `json:"now"`
	Until       time.Time `json:"until"`
	Jobs        int       `json:"jobs"` // that were looked at
	More        int       `json:"more"` // that wait behind these
	StartBefore int       `json:"start_before"`
	StartAfter  int       `json:"start_after"`
	// Of the jobs that start both ways.
	MeanWaitBefore float64          `json:"mean_wait_before_s"`
	MeanWaitAfter  float64          `json:"mean_wait_after_s"`
	CostBefore     decision.Dollars `json:"cost_before_usd"`
	CostAfter      decision.Dollars `json:"cost_after_usd"`
	Changes        []WhatIfChange   `json:"changes"` // those that it matters to most first
}

// WhatIfChange is a job that would start at another time or elsewhere.
type WhatIfChange struct {
	Job     federation.JobID `json:"job_id"`
	Name    string           `json:"name,omitempty"`
	User    string           `json:"user"`
	Account string           `json:"account,omitempty"`
	Before  WhatIfFate       `json:"before"`
	After   WhatIfFate       `json:"after"`
}

// WhatIfFate is where and when a job starts. Start is missing if it does not, as far as was looked.
type WhatIfFate struct {
	Site   federation.SiteName `json:"site,omitempty"`
	Pool   string              `json:"pool,omitempty"`
	Start  *time.Time          `json:"start,omitempty"`
	Cost   decision.Dollars    `json:"cost_usd,omitempty"`
	Reason reasons.Reason      `json:"reason,omitempty"`
	// Limited: what keeps it back is a limit or a budget of the account tree.
	Limited bool `json:"limited,omitempty"`
}

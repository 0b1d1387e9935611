package decision

import (
	"fsub/federation/codes"
	"fsub/federation/ident"
	"fsub/federation/reasons"
)

// Rejection says why a pool, or a whole site, cannot run a job.
type Rejection struct {
	Site      ident.SiteName `json:"site"`
	Partition string         `json:"partition,omitempty"`
	Pool      string         `json:"pool,omitempty"`
	Reason    reasons.Reason `json:"reason"`
	Why       *codes.Why     `json:"why,omitempty"` // nil where only Detail says it
	// Detail is what somebody else has said: the site, the cloud, or an older version that kept words only. In answers of the API it is the whole text.
	Detail string `json:"detail,omitempty"`
	// Never: not now and not later either, as the site is configured. A site that does not answer is never Never.
	Never bool `json:"never,omitempty"`
	// Parts: it is about these of what is rented there alone. It is never stored.
	Parts []LeftOut `json:"-"`
}

// LeftOut is something rented that a job does not get for a while, and why.
type LeftOut struct {
	What   string // an offering, or a zone: then its spot machines are meant
	Reason reasons.Reason
	Why    *codes.Why
	Detail string
}

// Is reports whether r has this code. A rejection that an older version has stored is known by its sentence, where that is always the same.
func (r *Rejection) Is(code codes.Code) bool {
	if r.Why != nil {
		return r.Why.Code == code
	}
	return r.Detail != "" && r.Detail == codes.Fixed(code)
}

// Text is the rejection in words.
func (r *Rejection) Text() string {
	switch {
	case r.Why == nil:
		return r.Detail
	case r.Detail == "":
		return r.Why.Full()
	}
	notes := codes.Why{Notes: r.Why.Notes}
	return r.Detail + notes.Full()
}

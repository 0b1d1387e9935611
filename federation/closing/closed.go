package closing

import (
	"context"
	"fmt"
	"maps"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/audit"
	"fsub/federation/records"
)

// Option is the limit that closes an account at a site, and Shut is its value then. Tried with 24.11 and 26.05: what runs goes on, all else waits with reason AssocGrpJobsLimit and starts when
// there is money again, as it does in our own queue. GrpTRESMins ends what runs (TIMEOUT). GrpSubmitJobs refuses what is submitted, and lets start what waits already; so does MaxSubmitJobs,
// which a user's own value passes by.
const (
	Option = "GrpJobs"
	Shut   = "0"
)

// State is how far it has come with an account.
type State string

const (
	Closing State = "closing" // the site is being told
	Held    State = "closed"
	Opening State = "opening" // the site is being told
)

// Closed is an account, or a user's association, that is closed at a site.
type Closed struct {
	Site federation.SiteName `json:"site"`
	accounts.Key
	State  State     `json:"state"`
	Before string    `json:"before,omitempty"` // the site's own value of [Option]; "": it had none
	At     time.Time `json:"at"`
	Why    string    `json:"why"`
}

// Store keeps what is closed.
type Store struct{ set records.Set[Closed] }

// In is what is closed according to a store of records.
func In(st records.Store) *Store {
	return &Store{records.Set[Closed]{Store: st, Kind: "closed", Key: func(c *Closed) (owner, name *string) {
		site, key := string(c.Site), c.String()
		return &site, &key
	}}}
}

// List are all that are closed.
func (s *Store) List(ctx context.Context) ([]Closed, error) {
	all, err := s.set.List(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read which accounts are closed at sites: %w", err)
	}
	return all, nil
}

func (s *Store) put(ctx context.Context, c *Closed, did ...audit.Entry) error {
	return s.set.Put(ctx, c, did...)
}

func (s *Store) remove(ctx context.Context, c *Closed, did ...audit.Entry) error {
	return s.set.Remove(ctx, string(c.Site), c.Key.String(), did...)
}

// Text is a sentence about it, for people.
func (c *Closed) Text() string {
	return fmt.Sprintf("%s is closed at %s since %s (%s=%s, before %s): %s", c.Key, c.Site, c.At.UTC().Format("2006-01-02 15:04 UTC"), Option, Shut, valued(c.Before), c.Why)
}

// valued is an option with a value, for people.
func valued(value string) string {
	if value == "" {
		return "no " + Option
	}
	return Option + "=" + value
}

// Hide has what a site's accounting has look as if nothing were closed there, for comparisons with the tree: neither a sync may open what is closed, nor an import bring it into the tree.
func Hide(at *accounts.Import, tree *accounts.Tree, site federation.SiteName, all []Closed) {
	for i := range all {
		c := &all[i]
		if c.Site != site {
			continue
		}
		for j := range at.Records {
			r := &at.Records[j]
			if r.Key != c.Key || r.Set[Option] != Shut {
				continue
			}
			value := c.Before
			if ours := tree.Get(c.Key); ours != nil {
				value = ours.Set[Option]
			}
			r.Set = maps.Clone(r.Set)
			if r.Set[Option] = value; value == "" {
				delete(r.Set, Option)
			}
		}
	}
}

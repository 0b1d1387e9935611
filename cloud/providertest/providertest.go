// Package providertest is what every provider.Provider keeps: each promise of the interface's comments is one subtest that runs alone, in a cloud of its own.
// [Run] runs them; a [Harness] says how to make that cloud, and which faults it can be given. What a cloud cannot do it declares with a reason, and the
// suite says so.
package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/federation"
)

// Fault is something that goes wrong with a cloud.
type Fault string

const (
	StockOut    Fault = "stock-out"   // none is left of the offering
	Quota       Fault = "quota"       // the account may have no more of them
	Denied      Fault = "denied"      // the credentials are not good
	Throttled   Fault = "throttled"   // every call is one too many
	Unavailable Fault = "unavailable" // every call is answered by an error that proves nothing, and nothing is done
	LostReply   Fault = "lost-reply"  // the next Create is done, and its answer lost
	Queued      Fault = "queued"      // what is asked for is queued, and not made before this is mended
)

// Harness is a cloud to be tested, with nothing in it.
type Harness struct {
	Provider provider.Provider
	// Again returns another Provider of the same cloud, site and federation that remembers nothing, as after a crash; the first is not used any more.
	// nil: it cannot.
	Again func(t *testing.T) provider.Provider
	// Stranger returns a Provider of the same cloud for another site. nil: there is none.
	Stranger func(t *testing.T) provider.Provider

	Site federation.SiteName
	Boot agentapi.Boot
	// Offering is the ID of that which is rented; "": the cheapest of which four are to be had. It must be one whose machines can be near where the cloud has that.
	Offering string
	// Near: all machines are asked for near each other, where that is another way of making them.
	Near bool
	// Break makes things go wrong with machines of the offering until the function it returns is called. nil, or an error: it cannot.
	Break func(t *testing.T, f Fault, o provider.Offering) (mend func(), err error)
	// Unknown is the ID of a machine that the cloud has never had. "": "i-0123456789abcdef0".
	Unknown provider.InstanceID
	Wait    time.Duration // for what takes time in the cloud; 3 min
	// Except are subtests that do not hold for this cloud, with the reason.
	Except map[string]string
}

// suite is one subtest's cloud.
type suite struct {
	*testing.T
	Harness
	ctx   context.Context
	offer provider.Offering
	gangs int
}

// Run runs the suite. open makes a cloud for one subtest and ends it with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range []struct {
		name string
		run  func(*suite)
	}{
		{"OfferingsAreWhole", offeringsAreWhole},
		{"OfferingsStayTheSame", offeringsStayTheSame},
		{"CreateOne", createOne},
		{"CreateGang", createGang},
		{"CreateNear", createNear},
		{"MachinesGetAddresses", machinesGetAddresses},
		{"CreateAgain", createAgain},
		{"CreateAgainAfterRestart", createAgainAfterRestart},
		{"CreateAgainAfterEnd", createAgainAfterEnd},
		{"CreateAtOnce", createAtOnce},
		{"CreateConflict", createConflict},
		{"CreateInvalid", createInvalid},
		{"CreateCancelled", createCancelled},
		{"ListForeign", listForeign},
		{"ListAfterRestart", listAfterRestart},
		{"Delete", deleteAll},
		{"DeleteTwice", deleteTwice},
		{"DeletePart", deletePart},
		{"DeleteUnknown", deleteUnknown},
		{"DeleteUnknownAmong", deleteUnknownAmong},
		{"DeleteNothing", deleteNothing},
		{"DeleteAfterRestart", deleteAfterRestart},
		{"WithdrawUnknown", withdrawUnknown},
		{"WithdrawMade", withdrawMade},
		{"Topology", topology},
		{"FaultStockOut", faulty(StockOut, provider.KindStockOut)},
		{"FaultQuota", faulty(Quota, provider.KindQuota)},
		{"FaultDenied", faulty(Denied, provider.KindDenied)},
		{"FaultThrottled", faulty(Throttled, provider.KindThrottled)},
		{"FaultUnavailable", faulty(Unavailable, provider.KindUnavailable)},
		{"FaultsOfReads", faultsOfReads},
		{"OfferingsOutOfStock", offeringsOutOfStock},
		{"Queued", queued},
		{"QueuedAndRestart", queuedAndRestart},
		{"WithdrawQueued", withdrawQueued},
		{"LostReply", lostReply},
		{"LostReplyAndRestart", lostReplyAndRestart},
		{"WrapKeepsIt", wrapKeepsIt},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t)
			if why := h.Except[c.name]; why != "" {
				t.Skip("SKIPPED: this cloud is excepted: " + why)
			}
			s := &suite{T: t, Harness: h, ctx: t.Context()}
			s.defaults()
			c.run(s)
		})
	}
}

func (s *suite) defaults() {
	if s.Wait == 0 {
		s.Wait = 3 * time.Minute
	}
	if s.Unknown == "" {
		s.Unknown = "i-0123456789abcdef0"
	}
	if s.Boot == (agentapi.Boot{}) {
		s.Boot = agentapi.Boot{URL: "https://127.0.0.1:9", Token: "one-time", Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Lease: time.Minute}
	}
	all, err := s.Provider.Offerings(s.ctx)
	if err != nil {
		s.Fatalf("Offerings: %v", err)
	}
	slices.SortStableFunc(all, func(a, b provider.Offering) int {
		if a.Price < b.Price {
			return -1
		}
		return 1
	})
	for _, o := range all {
		if o.ID == s.Harness.Offering || s.Harness.Offering == "" && (o.Max == 0 || o.Max >= 4) {
			s.offer = o
			return
		}
	}
	s.Fatalf("no offering %q of which four can be had among %d", s.Harness.Offering, len(all))
}

// restart goes on with a Provider that remembers nothing, as after a crash.
func (s *suite) restart() {
	s.Helper()
	if s.Again == nil {
		s.Skip("SKIPPED: the cloud cannot be opened a second time")
	}
	s.Provider = s.Again(s.T)
}

// request is a new gang.
func (s *suite) request(count int) provider.Request {
	s.gangs++
	r := provider.Request{Token: fmt.Sprintf("gang-%s-%d", strings.ToLower(s.Name()[strings.LastIndex(s.Name(), "/")+1:]), s.gangs), Site: s.Site, Offering: s.offer, Count: count, Near: s.Near, Boot: s.Boot}
	for i := range count {
		r.Names = append(r.Names, fmt.Sprintf("%s-pool-%d", s.Site, 10*s.gangs+i))
	}
	return r
}

// create makes a gang that must come to be.
func (s *suite) create(r provider.Request) []provider.Instance {
	s.Helper()
	var made []provider.Instance
	s.until("the cloud makes what it has queued", func() bool {
		var err error
		if made, err = s.Provider.Create(s.ctx, r); err == nil {
			return true
		}
		e := provider.AsError(err)
		if e.Kind != provider.KindPending {
			s.Fatalf("Create(%s, %d machines): %v", r.Token, r.Count, err)
		}
		r.Resume = e.Resume
		return false
	})
	s.isGang(r, made)
	return made
}

// isGang checks that machines are those of a request, in its order.
func (s *suite) isGang(r provider.Request, made []provider.Instance) {
	s.Helper()
	seen := map[provider.InstanceID]bool{}
	for i, m := range made {
		if m.ID == "" || seen[m.ID] || m.Token != r.Token || m.Name != "" && i < len(r.Names) && m.Name != r.Names[i] || m.Offering != "" && m.Offering != r.Offering.ID {
			s.Errorf("machine %d of %s is %+v", i, r.Token, m)
		}
		seen[m.ID] = true
	}
	if len(made) != r.Count {
		s.Fatalf("%s has %d machines, not %d", r.Token, len(made), r.Count)
	}
}

func (s *suite) list(p provider.Provider) []provider.Instance {
	s.Helper()
	all, err := p.List(s.ctx)
	if err != nil {
		s.Fatalf("List: %v", err)
	}
	return all
}

// listed waits until the listing shows a gang's machines, all that are not ended, and returns them by ID.
func (s *suite) listed(r provider.Request, want int) map[provider.InstanceID]provider.Instance {
	s.Helper()
	var found map[provider.InstanceID]provider.Instance
	s.until(fmt.Sprintf("%d machines of %s in the listing", want, r.Token), func() bool {
		found = map[provider.InstanceID]provider.Instance{}
		for _, m := range s.list(s.Provider) {
			if m.Token == r.Token && m.State != provider.InstanceEnded {
				found[m.ID] = m
			}
		}
		return len(found) == want
	})
	return found
}

// gone waits until the listing shows machines as ended or not at all.
func (s *suite) gone(ids []provider.InstanceID) {
	s.Helper()
	s.until(fmt.Sprintf("%d machines gone", len(ids)), func() bool {
		for _, m := range s.list(s.Provider) {
			if slices.Contains(ids, m.ID) && m.State != provider.InstanceEnded {
				return false
			}
		}
		return true
	})
}

func (s *suite) until(what string, ok func() bool) {
	s.Helper()
	for end := time.Now().Add(s.Wait); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("%s: not within %v", what, s.Wait)
		}
	}
}

func (s *suite) delete(ids ...provider.InstanceID) {
	s.Helper()
	if err := s.Provider.Delete(s.ctx, ids); err != nil {
		s.Fatalf("Delete(%v): %v", ids, err)
	}
}

func ids(all []provider.Instance) []provider.InstanceID {
	var out []provider.InstanceID
	for _, m := range all {
		out = append(out, m.ID)
	}
	return out
}

// refused checks that an error is a cloud's refusal of a kind, as callers need it.
func (s *suite) refused(err error, kinds ...provider.ErrorKind) {
	s.Helper()
	var e *provider.Error
	if !errors.As(err, &e) {
		s.Fatalf("%v is no *provider.Error", err)
	}
	if !slices.Contains(kinds, e.Kind) {
		s.Fatalf("%v is of kind %s, not %v", err, e.Kind, kinds)
	}
	if e.Scope == "" || e.Text == "" && e.Code == "" {
		s.Errorf("%#v lacks its scope or its words", e)
	}
}

package controller

import (
	"testing"
	"time"

	"fsub/federation"
)

// A site that cannot be reached as it is configured is reached at once when it is configured anew, with its new prices.
func TestSiteIsConfiguredAnew(t *testing.T) {
	b := newBench(t)
	b.cheap.fail = federation.ErrUnavailable
	b.wait(2 * time.Minute)
	other := &fakeSite{now: b.cheap.now, nodes: b.cheap.nodes, jobs: b.cheap.jobs, books: b.cheap.books}
	b.ctl.Join(Site{Name: "cheap", Driver: other, Prices: map[string]float64{"gres/gpu": 0.25}})
	b.wait(2 * time.Second)
	sites := b.ctl.Sites()
	if len(sites) != 2 || sites[0].Name != "cheap" || !sites[0].Answering || sites[0].Prices["gres/gpu"] != 0.25 {
		t.Errorf("%+v", sites[0])
	}
	id := b.submit(nil)
	b.wait(2 * time.Second)
	b.want(id, federation.Pending, "", "cheap")
	if other.submits != 1 || b.cheap.submits != 0 {
		t.Errorf("%d jobs for the new driver, %d for the old one", other.submits, b.cheap.submits)
	}
}

// A site that was seen to answer is looked at at once.
func TestLookAgain(t *testing.T) {
	b := newBench(t)
	b.cheap.fail = federation.ErrUnavailable
	b.wait(5 * time.Minute)
	b.cheap.fail = nil
	b.ctl.LookAgain("cheap")
	b.rounds(3)
	if s := b.ctl.Sites()[0]; !s.Answering {
		b.wait(300 * time.Millisecond)
		if s = b.ctl.Sites()[0]; !s.Answering {
			t.Errorf("%s does not answer: %s", s.Name, s.Error)
		}
	}
}

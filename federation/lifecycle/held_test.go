package lifecycle

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
)

// TestHeldBySite: a hold that nobody here has asked for, after a requeue.
func TestHeldBySite(t *testing.T) {
	held := federation.SiteJob{State: federation.Pending, Reason: reasons.LaunchHeld}
	for _, c := range []struct {
		name     string
		by       federation.Hold
		restarts int // of the attempt, there
		sj       federation.SiteJob
		want     bool
	}{
		{"its node could not start it", federation.NotHeld, 1, held, true},
		{"held by its user's number, after a requeue", federation.NotHeld, 1, federation.SiteJob{State: federation.Pending, Reason: reasons.HeldUser}, true},
		{"held here, too", federation.HeldUser, 1, held, false},
		{"never requeued: an operator of the site holds it", federation.NotHeld, 0, held, false},
		{"it runs", federation.NotHeld, 1, federation.SiteJob{State: federation.Running, Reason: reasons.LaunchHeld}, false},
		{"it waits for something else", federation.NotHeld, 1, federation.SiteJob{State: federation.Pending, Reason: reasons.Priority}, false},
	} {
		if got := HeldBySite(&federation.Job{Held: c.by}, &federation.Attempt{Restarts: c.restarts}, &c.sj); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	user := federation.SiteJob{State: federation.Pending, Reason: reasons.HeldUser}
	for _, c := range []struct {
		name      string
		restarts  int // of the job
		there     int // of the attempt
		sj        *federation.SiteJob
		elsewhere bool
		want      HoldAction
	}{
		{"once: to another node", 1, 1, &held, true, Release},
		{"twice: to another site", 2, 2, &held, true, Elsewhere},
		{"twice, and there is no other site", 2, 2, &held, false, Release},
		{"twice, by its user's number", 2, 2, &user, true, Release},
		{"too often", 6, 6, &held, true, LeaveHeld},
	} {
		got := Rules{5}.AfterHold(&federation.Job{Restarts: c.restarts}, &federation.Attempt{Restarts: c.there}, c.sj, func() bool { return c.elsewhere })
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestLiveRunOver: when a run that its controller has forgotten cannot live any more.
func TestLiveRunOver(t *testing.T) {
	site := func(seen time.Time, n1, n2 string) *federation.Site {
		return &federation.Site{Answering: true, SeenAt: seen, Seen: &federation.Observation{Nodes: []federation.Node{{Name: "n1", State: []string{n1}}, {Name: "n2", State: []string{n2}}}}}
	}
	away := site(at(1), "IDLE", "IDLE")
	away.Answering = false
	for _, c := range []struct {
		name  string
		nodes []string
		s     *federation.Site
		now   time.Time
		want  bool
	}{
		{"its node has answered since", []string{"n1"}, site(at(1), "IDLE", "DOWN"), at(1), true},
		{"its node is silent", []string{"n1"}, site(at(1), "NOT_RESPONDING", "IDLE"), at(1), false},
		{"its node is silent for long", []string{"n1"}, site(at(9), "DOWN", "IDLE"), at(9), false},
		{"too early", []string{"n1"}, site(at(1), "IDLE", "IDLE"), at(0).Add(10 * time.Second), false},
		{"not seen since", []string{"n1"}, site(at(0), "IDLE", "IDLE"), at(1), false},
		{"its site does not answer", []string{"n1"}, away, at(1), false},
		{"anywhere, and a node is silent", nil, site(at(1), "IDLE", "UNKNOWN"), at(1), false},
		{"anywhere, and all have answered", nil, site(at(1), "IDLE", "MIXED"), at(1), true},
		{"anywhere, and some node is down for good", nil, site(at(6), "IDLE", "DOWN"), at(6), true},
	} {
		r := LiveRun{Site: "a", Nodes: c.nodes, Since: at(0)}
		if got := r.Over(c.s, c.now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

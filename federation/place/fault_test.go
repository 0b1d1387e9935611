package place

import (
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

// A model without its observation makes placement panic at the first job that looks at the site.
func TestGuardNamesTheJob(t *testing.T) {
	obs := &federation.Observation{}
	s := federation.Snapshot{Now: time.Unix(1e9, 0), Sites: []*federation.Site{{Name: "rhein", Seen: obs}}, Jobs: []*federation.Job{{ID: 7}}}
	ask := map[string]func(*Planner){
		"plan":  func(k *Planner) { k.Plan(s, DefaultPolicy()) },
		"judge": func(k *Planner) { k.Judge(s, DefaultPolicy(), s.Jobs[0]) },
		"try":   func(k *Planner) { k.Try(s, DefaultPolicy(), s.Jobs[0]) },
	}
	for name, do := range ask {
		t.Run(name, func(t *testing.T) {
			k := &Planner{models: map[*federation.Observation]*model{obs: {}}}
			f := k.Guard(func() { do(k) })
			if f == nil || f.Job != 7 || f.Site != "" || !strings.Contains(f.Error(), "job 7") || !strings.Contains(f.Stack, "place.(*planner)") {
				t.Fatalf("the fault is %+v, want one over job 7 with a stack in the planner", f)
			}
			if f := k.Guard(func() { do(k) }); f != nil { // what it remembered was the cause
				t.Errorf("asked again it fails again: %v", f)
			}
		})
	}
}

// A job that a site holds already may be the cause as well.
func TestGuardNamesTheBoundJob(t *testing.T) {
	obs := &federation.Observation{}
	site := &federation.Site{Name: "rhein", Seen: obs, Bound: []federation.Bound{{Job: &federation.Job{ID: 8}, Units: 1}}}
	k := &Planner{models: map[*federation.Observation]*model{obs: {}}}
	f := k.Guard(func() { k.Plan(federation.Snapshot{Sites: []*federation.Site{site}}, DefaultPolicy()) })
	if f == nil || f.Job != 8 {
		t.Fatalf("the fault is %+v, want one over job 8", f)
	}
}

// An observation that cannot be read is the fault of no job: here a pool has a node that is not there.
func TestGuardNamesTheSite(t *testing.T) {
	rhein := &federation.Site{Name: "rhein", Seen: &federation.Observation{}, Pools: []federation.Pool{{Name: "main", Nodes: []int{5}}}}
	k := new(Planner)
	k.Judge(federation.Snapshot{}, DefaultPolicy(), &federation.Job{ID: 7}) // looked at before
	f := k.Guard(func() {
		k.Judge(federation.Snapshot{Sites: []*federation.Site{rhein}}, DefaultPolicy(), &federation.Job{ID: 8})
	})
	if f == nil || f.Job != 0 || f.Site != "rhein" || !strings.Contains(f.Error(), "site rhein") {
		t.Fatalf("the fault is %+v, want one over site rhein", f)
	}
}

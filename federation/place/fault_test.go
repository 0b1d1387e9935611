package place

import (
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// A model without its observation makes placement panic at the first job that looks at the site.
func TestGuardNamesTheJob(t *testing.T) {
	obs := &federation.Observation{}
	s := federation.Snapshot{Now: time.Unix(1e9, 0), Sites: []*federation.Site{{Name: "rhein", Seen: obs}}, Jobs: []*federation.Job{{ID: 7, Spec: new(sbatch.Spec)}}}
	ask := map[string]func(*World){
		"plan":  func(w *World) { w.Plan() },
		"judge": func(w *World) { w.Judge(s.Jobs[0]) },
		"try":   func(w *World) { w.Try(s.Jobs[0], nil) },
	}
	for name, do := range ask {
		t.Run(name, func(t *testing.T) {
			w := brokenWorld(&s)
			f := w.Guard(func() { do(w) })
			if f == nil || f.Job != 7 || f.Site != "" || !strings.Contains(f.Error(), "job 7") || !strings.Contains(f.Stack, "place.(*World)") {
				t.Fatalf("the fault is %+v, want one over job 7 with a stack in the World", f)
			}
			if f := w.Guard(func() { do(w) }); f != nil { // what it remembered was the cause
				t.Errorf("asked again it fails again: %v", f)
			}
		})
	}
}

// brokenWorld has a model without its observation.
func brokenWorld(s *federation.Snapshot) *World {
	w := newWorldOf(s, DefaultPolicy())
	w.sites[0].model, w.sites[0].read = &model{}, s.Sites[0].Seen
	return w
}

// A job that a site holds already may be the cause as well.
func TestGuardNamesTheBoundJob(t *testing.T) {
	obs := &federation.Observation{}
	site := &federation.Site{Name: "rhein", Seen: obs, Bound: []federation.Bound{{Job: &federation.Job{ID: 8, Spec: new(sbatch.Spec)}, Units: 1}}}
	w := brokenWorld(&federation.Snapshot{Sites: []*federation.Site{site}})
	f := w.Guard(func() { w.Plan() })
	if f == nil || f.Job != 8 {
		t.Fatalf("the fault is %+v, want one over job 8", f)
	}
}

// An observation that cannot be read is the fault of no job: here a pool has a node that is not there.
func TestGuardNamesTheSite(t *testing.T) {
	rhein := &federation.Site{Name: "rhein", Seen: &federation.Observation{}, Pools: []federation.Pool{{Name: "main", Nodes: []int{5}}}}
	w := NewWorld(DefaultPolicy(), 0)
	w.Judge(&federation.Job{ID: 7, Spec: new(sbatch.Spec)}) // looked at before
	w.SetSite(rhein)
	f := w.Guard(func() { w.Judge(&federation.Job{ID: 8, Spec: new(sbatch.Spec)}) })
	if f == nil || f.Job != 0 || f.Site != "rhein" || !strings.Contains(f.Error(), "site rhein") {
		t.Fatalf("the fault is %+v, want one over site rhein", f)
	}
}

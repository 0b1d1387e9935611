package place

import (
	"cmp"
	"slices"
	"time"

	"fsub/federation"
)

// members are the sites, as they are known, and the terms by which they judge who can run where. Whatever changes a verdict of a site gives it, and all of them, a new version: a shape
// that was judged at the same version need not be judged again. It knows of no queue and no plan.
type members struct {
	policy Policy
	seed   uint64
	clock  time.Time
	now    int64 // clock in Unix seconds

	sites   []*siteState // by name
	version int          // counts changes of sites that matter to who can run where
	apart   bool         // some site does not share the submit hosts' file systems
}

func (ms *members) site(name federation.SiteName) *siteState {
	i, ok := slices.BinarySearchFunc(ms.sites, name, func(st *siteState, name federation.SiteName) int { return cmp.Compare(st.site.Name, name) })
	if !ok {
		return nil
	}
	return ms.sites[i]
}

// waitUntil is how long a job waits that starts then.
func (ms *members) waitUntil(start int64) time.Duration {
	if start == never {
		return ms.policy.FarWait
	}
	return time.Duration(start-ms.now) * time.Second
}

// soon reports whether a job with that start may wait at the site. Late binding keeps no more there than is needed to keep it busy.
func (ms *members) soon(start int64) bool {
	return start != never && time.Duration(start-ms.now)*time.Second <= ms.policy.BindAhead
}

// dropsSwitches reports whether a job has waited long enough for its --switches.
func (ms *members) dropsSwitches(job *federation.Job) bool {
	if job.Spec.Switches == 0 || job.Submit.IsZero() {
		return false
	}
	patience := job.Spec.SwitchesWait
	if patience <= 0 {
		patience = ms.policy.SwitchesWait
	}
	return ms.clock.Sub(job.Submit) >= patience
}

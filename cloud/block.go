package cloud

import (
	"fmt"
	"time"

	"fsub/federation/reasons"
	"fsub/sbatch"
)

// Machines of a capacity block are paid for until its end, and the cloud takes them some time before that (Offering.Until): jobs are given them that will have ended by then.

// stays reports whether the group's machines are there for as long as a job may run on them, if it begins after boot.
func (s *scheduler) stays(ng *nodeGroup, j *job, boot time.Duration) (refusal, bool) {
	until := ng.offering.Until
	if until.IsZero() {
		return refusal{}, true
	}
	limit := j.limit(ng.pool)
	if limit < sbatch.Unlimited && !s.now().Add(boot+limit).After(until) {
		return refusal{}, true
	}
	may := "may run for " + limit.String()
	if limit == sbatch.Unlimited {
		may = "has no time limit"
	}
	return refusal{reason: reasons.ReqNodeNotAvail, detail: fmt.Sprintf("it %s, and %s is there until %s", may, ng.offering.ID, until.UTC().Format(time.RFC3339)), back: true}, false
}

// ends reports whether the time of the group's machines is over, or will be within some time.
func (ng *nodeGroup) ends(now time.Time, within time.Duration) bool {
	return !ng.offering.Until.IsZero() && !now.Add(within).Before(ng.offering.Until)
}

// blockEnds is why a machine is ended whose time is over.
const blockEnds = "its capacity block ends"

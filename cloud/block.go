package cloud

import (
	"fmt"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// Machines of a capacity block are paid for until its end, and the cloud takes them some time before that (Offering.Until): jobs are given them that will have ended by then.

// stays reports whether the lane's machines are there for as long as a job may run on them, if it begins after boot.
func (q *queue) stays(l *lane, j *job, boot time.Duration) (verdict, bool) {
	until := l.offering.Until
	if until.IsZero() {
		return verdict{}, true
	}
	limit := j.limit(l.pool)
	if limit < sbatch.Unlimited && !q.now().Add(boot+limit).After(until) {
		return verdict{}, true
	}
	may := "may run for " + limit.String()
	if limit == sbatch.Unlimited {
		may = "has no time limit"
	}
	return verdict{reason: federation.ReasonReqNodeNotAvail, detail: fmt.Sprintf("it %s, and %s is there until %s", may, l.offering.ID, until.UTC().Format(time.RFC3339)), back: true}, false
}

// ends reports whether the time of the lane's machines is over, or will be within some time.
func (l *lane) ends(now time.Time, within time.Duration) bool {
	return !l.offering.Until.IsZero() && !now.Add(within).Before(l.offering.Until)
}

// blockEnds is why a machine is ended whose time is over.
const blockEnds = "its capacity block ends"

package place

import (
	"time"

	"fsub/federation"
	"fsub/federation/decision"
)

// What it is worth to run sooner: an hour of waiting has a price, which a QOS may multiply, and a job with a deadline may say what its result
// is worth by then (--deadline with "#FSUB --deadline-value"). Both buy an earlier start at a more expensive site.

// urgency is by how much a QOS multiplies the price of waiting.
func (p *Policy) urgency(qos string) float64 {
	if f, ok := p.WaitQOS[qos]; ok {
		return f
	}
	return 1
}

// due is what a job loses if it ends after some time; the zero value is nothing. A deadline without a value has no price: then a place where
// the job would be too late is passed over, see availability.go.
type due struct {
	at    time.Time
	value decision.Dollars
}

func dueOf(job *federation.Job) due {
	f := job.Spec.Fed
	if f == nil || f.DeadlineValue <= 0 || job.Spec.Deadline.IsZero() {
		return due{}
	}
	return due{job.Spec.Deadline, decision.Dollars(f.DeadlineValue)}
}

// deadline is the one that has no price; zero if there is none.
func (sh *shape) deadline() time.Time {
	if dueOf(&sh.like).value > 0 {
		return time.Time{}
	}
	return sh.like.Spec.Deadline
}

// lateDetail is "expected to end 20 min after the deadline".
func (w wording) lateDetail() string {
	if w.at.start == never {
		return "nothing says that it ends by the deadline"
	}
	return "expected to end " + spanText(w.ends(w.at, w.pl).Sub(w.due.at)) + " after the deadline"
}

package submission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// Try is a submission with TestOnly: the sentence of sbatch --test-only, or the refusal that a submission would get. As slurmctld does
// it uses up a job number. With explain it says too what fed explain would say of the job.
func (s *Gate) Try(ctx context.Context, c identity.Caller, job *federation.Job, p *sbatch.Payload, explain bool) (resp v1.SubmitResponse, err error) {
	if err := s.Limits.Begin(c); err != nil {
		return resp, err
	}
	named, err := s.prepare(c, job, p)
	if err != nil {
		return resp, err
	}
	var t decision.Trial
	err = s.judge(job, func() (err error) {
		t, err = s.Controller.Try(ctx, job)
		return err
	})
	if err != nil {
		return resp, err
	}
	settled, err := s.admit(ctx, job)
	if err != nil {
		return resp, err
	}
	settled(0)
	if t.Site == "" {
		no := nowhereNow(&t.Decision)
		if slurm := (*federation.SlurmError)(nil); explain && errors.As(no, &slurm) {
			slurm.Detail = place.Explain(job, t.Decision)
		}
		return resp, no
	}
	ids, err := s.Store.ReserveIDs(ctx, 1)
	if err != nil {
		return resp, answer.OfStore(err, answer.TimedOut)
	}
	resp = v1.SubmitResponse{Message: trialText(ids[0], &t, len(job.Spec.Het) > 0), Place: trialMore(&t), Warnings: named.Warnings}
	if explain {
		job.ID = ids[0]
		resp.Explanation = place.Explain(job, t.Decision)
		d := t.Decision.Worded()
		d.Job = job.ID
		resp.Decision, resp.Start = &d, trialStart(&t)
	}
	return resp, nil
}

// trialStart is when a job would start where it would go; nil where nobody knows.
func trialStart(t *decision.Trial) *decision.Start {
	if t.Start.IsZero() || len(t.Decision.Offers) == 0 {
		return nil
	}
	s := t.Decision.Offers[0].Begins()
	s.At, s.Within = t.Start.UTC(), t.Within
	return &s
}

// trialText is what sbatch 24.11 prints after "sbatch: ". Of a heterogeneous job it leaves the partition out.
func trialText(id federation.JobID, t *decision.Trial, het bool) string {
	start := "Unknown" // as Slurm prints a time that is not known
	if !t.Start.IsZero() {
		start = t.Start.Local().Format("2006-01-02T15:04:05")
	}
	text := fmt.Sprintf("Job %d to start at %s using %d processors on ", id, start, t.Processors)
	nodes := hostlist.Compress(t.Nodes)
	if het {
		return text + nodes
	}
	return text + fmt.Sprintf("nodes %s in partition %s", nodes, t.Partition)
}

// trialMore is what sbatch does not tell: the site, what the job would come to there, how long it would wait, and how long it is expected to run.
func trialMore(t *decision.Trial) string {
	if len(t.Decision.Offers) == 0 {
		return ""
	}
	o := t.Decision.Offers[0]
	text := fmt.Sprintf("%s %s, %s", o.Site, o.Pool, accounting.MoneyOf(float64(o.Price())).USD())
	most := o.Most
	if o.Paid != nil {
		most = o.Paid.Most
	}
	if most > o.Price() {
		text += fmt.Sprintf(", %s at most", accounting.MoneyOf(float64(most)).USD())
	}
	if o.Total-o.Price() >= 0.005 {
		text += fmt.Sprintf(" (%s with the value of waiting)", accounting.MoneyOf(float64(o.Total)).USD())
	}
	text += trialWait(t, o)
	if e := t.Decision.Expected; e != nil && e.Runs > 0 {
		half, most := "", ""
		if o.Paid != nil {
			half = " for " + accounting.MoneyOf(float64(o.Paid.P50)).USD()
			most = " for " + accounting.MoneyOf(float64(o.Paid.P90)).USD()
		}
		text += fmt.Sprintf("; expected to run %s%s, and in nine of ten cases no longer than %s%s: from %s", whole(e.P50), half, whole(e.P90), most, e.From())
	}
	return text
}

// trialWait is how long a job would wait, and for what.
func trialWait(t *decision.Trial, o *decision.Offer) string {
	begins := o.Begins()
	switch f := o.Foreseen; {
	case t.Waits != nil:
		text := fmt.Sprintf("; would wait: %s: %s", t.Waits.Kind, t.Waits.Text)
		if len(t.Waits.Free) > 0 {
			text += "; sooner " + t.Waits.Free[0]
		}
		return text
	case t.Unknown:
		return "; would wait for other jobs, whose end is not known"
	case t.Start.Sub(begins.At) >= time.Second: // for others, or a begin time
		text := "; starts when the jobs that it depends on are expected to end"
		if t.Within.After(t.Start) {
			text += fmt.Sprintf(", and in nine of ten cases within %s", whole(t.Within.Sub(o.Start.Add(-o.Wait))))
		}
		return text
	case f != nil && begins.Within.After(begins.At):
		made := o.Start.Add(-o.Wait)
		text := fmt.Sprintf("; starts in %s, and in nine of ten cases within %s", whole(begins.At.Sub(made)), whole(begins.Within.Sub(made)))
		if f.Unsure != "" {
			text += " (unsure: " + f.Unsure + ")"
		}
		return text
	case o.Wait >= time.Second && t.Decision.Reason == reasons.Priority:
		return fmt.Sprintf("; starts in %s unless jobs that wait already come first", whole(o.Wait))
	case o.Wait >= time.Second:
		return fmt.Sprintf("; starts in %s", whole(o.Wait))
	}
	return ""
}

// whole is a span in whole seconds, one at least.
func whole(d time.Duration) time.Duration { return max(d.Round(time.Second), time.Second) }

// nowhereNow is the refusal of a job that may run one day, while nothing says when. Where the sites that are seen can never run it that is
// what it says, although one that is not seen might.
func nowhereNow(d *decision.Decision) error {
	why := "no site is configured"
	unseen := func(r decision.Rejection) bool { return !r.Never && r.Reason == reasons.SiteUnavailable }
	for _, r := range d.Rejections {
		if r.Reason == d.Reason {
			why = fmt.Sprintf("%s: %s (%s)", r.Site, r.Text(), r.Reason)
		}
	}
	if d.Reason == reasons.SiteUnavailable {
		seen := decision.Decision{Rejections: slices.DeleteFunc(slices.Clone(d.Rejections), unseen)}
		if no := place.Refusal(seen); no != nil {
			no.Detail += "; another site may: " + why
			return no
		}
		return answer.Detailed(answer.NoContact, why)
	}
	return &federation.SlurmError{Kind: federation.ErrCapacity, Number: 2016, Text: "Requested nodes are busy", Detail: why}
}

package place

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// nearness has the reasons in the order of the filters: a pool that was refused for a later one came nearer to running the job.
var nearness = []reasons.Reason{
	reasons.NotAsked, reasons.Unsupported, reasons.FileSystem, reasons.Partition,
	reasons.UnknownUser, reasons.RootOnly, reasons.Account, reasons.QOS, reasons.Reservation,
	reasons.QOSTime, reasons.PartitionTime, reasons.PartitionNodes, reasons.GRES, reasons.BadConstraints,
	reasons.ReqNodeNotAvail, reasons.MaxCost, reasons.Refused, reasons.SiteDrain,
	reasons.SiteUnavailable, reasons.PartitionDown,
}

// rank tells how near a rejection came.
func rank(r *decision.Rejection) int {
	if r.Never && r.Reason == reasons.SiteUnavailable {
		return -1 // refuses our token: nothing is known of what it has
	}
	return rankOf(r.Reason)
}

func rankOf(reason reasons.Reason) int {
	if i := slices.Index(nearness, reason); i >= 0 {
		return i
	}
	return len(nearness)
}

// nearest is the rejection that came nearest to running the job, if possible one that may pass; nil if there is none.
func nearest(rejections []decision.Rejection) *decision.Rejection {
	var best *decision.Rejection
	for i := range rejections {
		r := &rejections[i]
		if r.Is(codes.NotAsked) && r.Never && best != nil {
			continue
		}
		if best == nil || best.Never && !r.Never || best.Never == r.Never && rank(r) > rank(best) {
			best = r
		}
	}
	return best
}

// waitReason is why a job waits if no pool can run it now.
func waitReason(rejections []decision.Rejection) reasons.Reason {
	if r := nearest(rejections); r != nil {
		return r.Reason
	}
	return reasons.SiteUnavailable // there are no sites at all
}

// Explain puts a decision into words, the same for equal decisions: where the job goes and what that costs, the second
// choice, and why not elsewhere.
//
//	job 30004711 -> rhein   $38.10 ($41.20 with the value of waiting) = run 38.10 (8 x h100 x 2.10 h at $2.27/h) + wait 3.10 (12 min)
//	  second: weser  $47.75   starts now: run 47.75 (8 x a100 x 3.40 h at $1.76/h)
//	  not viable: elbe (ReqNodeNotAvail: 4 nodes under one switch, largest leaf has 3), oder (FedSiteDrain: FedState is DRAIN)
func Explain(job *federation.Job, d decision.Decision) string {
	return explain(job, d, false, nil)
}

// explain is Explain of a job that waits for something else than nodes, if apart is set: lines tell for what, and where it would start now is not said.
func explain(job *federation.Job, d decision.Decision, apart bool, lines []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "job %s ", jobText(job))
	bound := job.Site != "" // the choice has been made
	switch {
	case d.Bind:
		b.WriteString("-> " + offerText(d.Offers[0], "", " = "))
	case job.State.Ended() && len(d.Offers) > 0:
		b.WriteString("has ended; now it would go to " + offerText(d.Offers[0], "", " = "))
	case job.State.Ended():
		b.WriteString("has ended")
	case job.Whole != nil && job.Whole.Spread && job.Spec.Array == "":
		b.WriteString("has no task that waits to be sent to a site")
	case apart:
		fmt.Fprintf(&b, "waits (%s)", d.Reason)
	case len(d.Offers) > 0 && (d.Reason == "" || d.Reason == reasons.None):
		b.WriteString("goes to " + offerText(d.Offers[0], "", " = "))
	case len(d.Offers) > 0:
		fmt.Fprintf(&b, "waits (%s) for %s", d.Reason, offerText(d.Offers[0], "", " = "))
	case d.Impossible() && len(d.Rejections) > 0:
		b.WriteString("cannot run anywhere")
	default:
		fmt.Fprintf(&b, "waits (%s)", d.Reason)
	}
	b.WriteByte('\n')
	for _, line := range lines {
		b.WriteString("  " + line + "\n")
	}
	if apart && !d.Bind {
		if len(d.Offers) > 0 {
			b.WriteString("  as things are it would go to " + offerText(d.Offers[0], "", " = ") + "\n")
		}
		d.Offers = d.Offers[:min(len(d.Offers), 1)]
	}
	if d.Preempt != nil {
		fmt.Fprintf(&b, "  %s\n", d.Preempt.Text())
	}
	if d.Early {
		fmt.Fprintf(&b, "  it waits in the queue of %s itself, where jobs of others wait too\n", d.Offers[0].Site)
	}
	if e := d.Expected; e != nil {
		runs := "runs"
		if e.Runs == 1 {
			runs = "run"
		}
		fmt.Fprintf(&b, "  expected to run %s, %s on average, and in nine of ten cases no longer than %s: from %d %s %s%s\n", spanText(e.P50), spanText(likely(e)), spanText(max(e.P90, time.Second)), e.Runs, runs, e.Of, cutText(e))
	}
	for i := 1; i < len(d.Offers); i++ {
		label := "  then:   "
		if i == 1 {
			label = "  second: "
		}
		o := d.Offers[i]
		when := ""
		if o.Wait == 0 && !bound {
			when = "starts now: "
		}
		b.WriteString(label + offerText(o, when, "   ") + "\n")
	}
	if text := rejectionsText(d.Rejections); text != "" {
		b.WriteString("  not viable: " + text + "\n")
	}
	return b.String()
}

// cutText tells how many of the runs that an expectation stands on were cut short.
func cutText(e *decision.Expected) string {
	switch {
	case e.Cut == 0:
		return ""
	case e.Cut == e.Runs:
		return ", cut short"
	}
	return fmt.Sprintf(", %d of them cut short", e.Cut)
}

// jobText is how users name a job: of a task of an array "30004711_7", of those of an array that wait "30004711_[3-9]", of a component "30004711+1".
func jobText(job *federation.Job) string {
	switch {
	case job.Whole != nil && job.Whole.Spread && job.Spec.Array != "" && !job.State.Ended():
		left := job.Spec.Array
		const shown = 40
		if len(left) > shown {
			left = left[:strings.LastIndexByte(left[:shown], ',')+1] + "..."
		}
		return fmt.Sprintf("%s_[%s]", job.ID, left)
	case job.Part != nil:
		return fmt.Sprintf("%s_%d", job.Part.Array, job.Part.Index)
	case job.Component != nil:
		return fmt.Sprintf("%s+%d", job.Component.Leader, job.Component.Offset)
	}
	return job.ID.String()
}

// offerText is "rhein main/h100  $38.10 ($40.70 with the value of waiting) = run 38.10 (...) + wait 2.60 (...)": first what is paid, then what offers are compared by.
func offerText(o *decision.Offer, when, sep string) string {
	terms := make([]string, len(o.Terms))
	for i, t := range o.Terms {
		if terms[i] = t.Name; t.Amount != 0 || t.Name != "late" {
			terms[i] += " " + strings.Replace(dollarsText(t.Amount), "$", "", 1)
		}
		if t.Detail != "" {
			terms[i] += " (" + t.Detail + ")"
		}
	}
	pool := o.Pool
	if o.As != "" {
		pool += " as " + o.As
	}
	price := dollarsText(o.Price())
	if total := dollarsText(o.Total); total != price {
		price += " (" + total + " with the value of waiting)"
	}
	return fmt.Sprintf("%s %s  %s%s%s%s", o.Site, pool, price, sep, when, strings.Join(terms, " + "))
}

// rejectionsText lists the rejections, except of partitions that nobody asked for.
func rejectionsText(rejections []decision.Rejection) string {
	var texts []string
	for i := range rejections {
		r := &rejections[i]
		if r.Is(codes.NotAsked) {
			continue
		}
		texts = append(texts, fmt.Sprintf("%s (%s: %s)", whereText(r), r.Reason, r.Text()))
	}
	return strings.Join(texts, ", ")
}

func whereText(r *decision.Rejection) string {
	switch {
	case r.Pool != "":
		return string(r.Site) + " " + r.Pool
	case r.Partition != "":
		return string(r.Site) + " " + r.Partition
	}
	return string(r.Site)
}

package sim

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"fsub/accounting/report"
	"fsub/cmd/fed/internal/cli"
	"fsub/federation/replay/chart"
	"fsub/sbatch"
)

// print prints the figures of replays beside each other.
func (s *simulation) print(w io.Writer, all []chart.Replay) error {
	if s.c.JSON {
		type named struct {
			Order   string `json:"order"`
			Figures any    `json:"figures"`
		}
		var out []named
		for i := range all {
			out = append(out, named{all[i].Name, all[i].Summary})
		}
		return cli.PrintJSON(w, out)
	}
	t := cli.NewTable(w)
	head := []string{""}
	for i := range all {
		head = append(head, all[i].Name)
	}
	t.Row(head...)
	row := func(name string, of func(*chart.Replay) string) {
		cells := []string{name}
		for i := range all {
			cells = append(cells, of(&all[i]))
		}
		t.Row(cells...)
	}
	span := func(name string, of func(*chart.Replay) time.Duration) {
		row(name, func(r *chart.Replay) string { return strconv.FormatFloat(of(r).Seconds(), 'f', 0, 64) })
	}
	row("jobs", func(r *chart.Replay) string {
		if r.Summary.Ended < r.Summary.Jobs {
			return fmt.Sprintf("%d, %d never started", r.Summary.Jobs, r.Summary.Jobs-r.Summary.Ended)
		}
		return strconv.Itoa(r.Summary.Jobs)
	})
	span("mean completion, s", func(r *chart.Replay) time.Duration { return r.Summary.MeanTime })
	span("mean wait, s", func(r *chart.Replay) time.Duration { return r.Summary.MeanWait })
	span("wait p50, s", func(r *chart.Replay) time.Duration { return r.Summary.WaitP50 })
	span("wait p90, s", func(r *chart.Replay) time.Duration { return r.Summary.WaitP90 })
	span("wait p99, s", func(r *chart.Replay) time.Duration { return r.Summary.WaitP99 })
	if s.local > 0 {
		span("local jobs: mean wait, s", func(r *chart.Replay) time.Duration { return r.Result.LocalSummary().MeanWait })
		span("local jobs: wait p90, s", func(r *chart.Replay) time.Duration { return r.Result.LocalSummary().WaitP90 })
	}
	row("mean slow-down", func(r *chart.Replay) string { return fmt.Sprintf("%.2f", r.Summary.SlowDown) })
	row("worst p99 slow-down of an account", func(r *chart.Replay) string {
		worst, who := r.Summary.WorstP99(1)
		if who == "" {
			return fmt.Sprintf("%.1f", worst)
		}
		return fmt.Sprintf("%.1f (%s)", worst, who)
	})
	row("fairness of slow-downs (Jain)", func(r *chart.Replay) string { return fmt.Sprintf("%.2f", r.Summary.Fairness) })
	row("utilisation, %", func(r *chart.Replay) string { return fmt.Sprintf("%.1f", 100*r.Summary.Utilisation) })
	row("GPU-hours", func(r *chart.Replay) string { return hours(r.Summary.GPUHours + r.Summary.RentedHours) })
	row("  rented", func(r *chart.Replay) string { return hours(r.Summary.RentedHours) })
	row("cost", func(r *chart.Replay) string { return cli.USD(r.Summary.Cost) })
	row("plans", func(r *chart.Replay) string { return strconv.Itoa(r.Summary.Plans) })
	row("a plan takes", func(r *chart.Replay) string { return r.Summary.PerPlan.Round(time.Microsecond).String() })
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range all {
		if err := s.printAccounts(w, &all[i]); err != nil {
			return err
		}
		for k := range all[i].Result.Jobs {
			if o := &all[i].Result.Jobs[k]; o.End.IsZero() {
				fmt.Fprintf(os.Stderr, "%s: job %d of the trace never started: %s%s\n", all[i].Name, o.Job.ID, o.Reason, asksFor(o.Job.Spec))
				break
			}
		}
	}
	return nil
}

// asksFor says what of a job a named fleet may lack.
func asksFor(s *sbatch.Spec) string {
	where := "on a node"
	if s.MinNodes > 1 {
		where = fmt.Sprintf("on each of %d nodes", s.MinNodes)
	}
	switch {
	case s.GPUsPerNode != "":
		return fmt.Sprintf("; it asks for gpu:%s %s", s.GPUsPerNode, where)
	case s.MinNodes > 0:
		return fmt.Sprintf("; CPUs asked for %s: %d", where, s.CPUsPerTask)
	}
	return fmt.Sprintf("; it asks for %d CPUs", s.NTasks)
}

func (s *simulation) printAccounts(w io.Writer, r *chart.Replay) error {
	if !s.byAccount {
		return nil
	}
	fmt.Fprintf(w, "\n%s\n", r.Name)
	t := cli.NewTable(w)
	t.Row("ACCOUNT", "JOBS", "GPU-HOURS", "COST", "MEAN WAIT", "SLOW-DOWN", "P99 SLOW-DOWN")
	for _, a := range r.Summary.Accounts {
		t.Row(cmp.Or(a.Account, "(none)"), strconv.Itoa(a.Jobs), hours(a.GPUHours), cli.USD(a.Cost), a.MeanWait.Round(time.Second).String(), fmt.Sprintf("%.2f", a.SlowDown),
			fmt.Sprintf("%.1f", a.SlowDownP99))
	}
	return t.Flush()
}

// writeOutcomes writes one line for each job and replay.
func writeOutcomes(name string, all []chart.Replay) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	w.Write([]string{"order", "job", "user", "account", "site", "pool", "gpus", "submit", "start", "end", "cost_usd", "reason"})
	for i := range all {
		for k := range all[i].Result.Jobs {
			o := &all[i].Result.Jobs[k]
			w.Write([]string{all[i].Name, o.Job.ID.String(), report.CSVText(o.Job.User), report.CSVText(o.Job.Spec.Account), string(o.Site), o.Pool, strconv.Itoa(o.GPUs), stamp(o.Submit), stamp(o.Start), stamp(o.End),
				fmt.Sprintf("%.4f", o.Cost), string(o.Reason)})
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// hours prints hours; those of a few short jobs with a digit more.
func hours(h float64) string {
	if h < 99.5 {
		return strconv.FormatFloat(h, 'f', 1, 64)
	}
	return strconv.FormatFloat(h, 'f', 0, 64)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

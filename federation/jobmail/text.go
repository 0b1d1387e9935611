package jobmail

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/plain"
	"fsub/federation/reasons"
	"fsub/federation/reports"
	"fsub/sbatch"
)

const (
	outputLines = 20  // of a job's output in the mail of its end
	mostLines   = 500 // events in a mail for many
)

// text is a mail as it is written.
type text struct{ strings.Builder }

func (t *text) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

func (t *text) row(name, format string, args ...any) {
	t.line("  %-10s "+format, append([]any{name}, args...)...)
}

// message is the mail of one event.
func (m *Mailer) message(ctx context.Context, l *letter) (*reports.Message, error) {
	var out *Output
	if l.ended() && l.array == nil && l.entry.Task < 0 && !l.job.Start.IsZero() {
		o := m.Facts.Output(ctx, &l.job, outputLines)
		out = &o
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	page := ""
	if m.Page != nil {
		page = m.Page(l.job.ID)
	}
	return &reports.Message{ID: l.entry.Name + "@" + m.Host, To: l.to, Subject: l.subject, Text: l.body(m.Facts.Limit(&l.job), out, page)}, nil
}

// body is what a mail says below its subject.
func (l *letter) body(limit time.Duration, out *Output, page string) string {
	var w text
	j, e := &l.job, l.entry
	w.line("%s", l.subject)
	w.line("")
	if e.Why != "" {
		w.line("%s", plain.Line(e.Why))
		w.line("")
	}
	if e.What == IdleLead {
		w.row("user", "%s", plain.Line(j.User))
	}
	l.place(&w)
	l.dates(&w, limit)
	if j.Cost != 0 {
		w.row("cost", "%s%s", j.Cost.USD(), accountOf(j))
	}
	if l.used.Known {
		l.used.write(&w)
	}
	if l.array != nil {
		l.array.write(&w, j.ID)
	}
	if j.Part != nil && j.Part.Count > MostTasks || j.Whole != nil && j.Whole.Count > MostTasks && e.Task >= 0 {
		w.line("")
		w.line("Of the array's tasks the first %d have mails of their own. When it has ended one mail tells of all.", MostTasks)
	}
	if out != nil {
		out.write(&w)
	}
	w.line("")
	if page != "" {
		w.line("%s", page)
	}
	w.line("fed job show %d", j.ID)
	return w.String()
}

// place says where the job is or was, and how it is with it.
func (l *letter) place(w *text) {
	j, e := &l.job, l.entry
	state := string(e.State)
	if l.ended() && j.Whole == nil {
		state += ", " + exitOf(e.Exit)
	}
	if e.Reason != "" && e.Reason != reasons.None && e.State != federation.Completed {
		state += " (" + plain.Line(string(e.Reason)) + ")"
	}
	w.row("state", "%s", state)
	if j.Restarts > 0 {
		w.row("restarts", "%d", j.Restarts)
	}
	a := l.attempt
	if a == nil || l.array != nil {
		return
	}
	at := string(a.Site)
	if a.Partition != "" {
		at += ", partition " + a.Partition
	}
	if a.Nodes != "" {
		at += ", " + a.Nodes
	}
	w.row("site", "%s", plain.Line(at))
}

const stamp = "2006-01-02 15:04:05 UTC"

// dates says when the job was submitted, began and ended, and how long it has waited and run.
func (l *letter) dates(w *text, limit time.Duration) {
	j := &l.job
	w.row("submitted", "%s", j.Submit.UTC().Format(stamp))
	if start := l.started(); !j.Start.IsZero() && l.entry.What != Requeue && l.entry.What != InvalidDepend {
		w.row("started", "%s, after %s", start.UTC().Format(stamp), span(start.Sub(j.Submit)))
		if l.array == nil && l.entry.What != Begin {
			of := ""
			if limit > 0 && limit != sbatch.Unlimited {
				of = fmt.Sprintf(" of %s that it may (%s)", span(limit), percent(int64(l.ran()), int64(limit)))
			}
			w.row("ran", "%s%s", span(l.ran()), of)
		}
	}
	if l.ended() && !j.End.IsZero() {
		w.row("ended", "%s", j.End.UTC().Format(stamp))
	}
}

func (u *Used) write(w *text) {
	if u.CPUOf > 0 {
		w.row("CPU time", "%s of %s (%s)", span(u.CPU), span(u.CPUOf), percent(int64(u.CPU), int64(u.CPUOf)))
	}
	if u.MemOf > 0 {
		w.row("memory", "%s of %s (%s)", size(u.Mem), size(u.MemOf), percent(u.Mem, u.MemOf))
	}
}

func percent(part, whole int64) string {
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}

// size writes KiB.
func size(kib int64) string {
	n, unit := float64(kib), 0
	for n >= 1024 && unit < 3 {
		n /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %s", n, []string{"KiB", "MiB", "GiB", "TiB"}[unit])
}

func accountOf(j *federation.Job) string {
	if j.Account == "" {
		return ""
	}
	return ", account " + plain.Line(j.Account)
}

func (o *Output) write(w *text) {
	if o.File == "" {
		return
	}
	w.line("")
	switch {
	case len(o.Lines) > 0:
		w.line("The last lines of %s:", plain.Line(o.File))
		w.line("")
		for _, l := range o.Lines {
			w.line("  %s", l)
		}
	case o.Why != "":
		w.line("Its output is in %s (%s).", plain.Line(o.File), o.Why)
	default:
		w.line("It has written nothing to %s.", plain.Line(o.File))
	}
}

// many is the text of a mail for many events. left is how many more were left out.
func many(letters []*letter, left int) string {
	var w text
	w.line("So much has happened to your jobs that this mail tells of %d events. At most %d mails go to a user within an hour.", len(letters), PerHour)
	w.line("")
	for i, l := range letters {
		if i == mostLines {
			w.line("and %d more", len(letters)-i)
			break
		}
		w.line("%s %s", l.entry.At.UTC().Format("15:04:05"), strings.TrimPrefix(l.subject, "Slurm "))
	}
	if left > 0 {
		w.line("")
		w.line("%d more were left out: at most %d may wait.", left, MostWaiting)
	}
	w.line("")
	w.line("fed job list -u %s", letters[0].job.User)
	return w.String()
}

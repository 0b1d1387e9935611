package jobmail

import (
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/idle"
	"fsub/federation/journal"
	"fsub/sbatch"
)

// other are words of slurmrestd for those of sbatch.
var other = map[string]string{"INVALID_DEPENDENCY": "INVALID_DEPEND", "TIME=100%": "TIME_LIMIT", "TIME=90%": "TIME_LIMIT_90", "TIME=80%": "TIME_LIMIT_80", "TIME=50%": "TIME_LIMIT_50"}

// all is what ALL means.
var all = []What{Begin, End, Fail, Requeue, InvalidDepend, StageOut}

const arrayTasks = "ARRAY_TASKS"

// asked is what a job asks mail for.
type asked map[string]bool

func askedBy(spec *sbatch.Spec) asked {
	if spec == nil || spec.MailType == "" {
		return nil
	}
	a := asked{}
	for word := range strings.SplitSeq(strings.ToUpper(spec.MailType), ",") {
		word = strings.TrimSpace(word)
		if sbatchs := other[word]; sbatchs != "" {
			word = sbatchs
		}
		switch word {
		case "NONE":
			return nil
		case "ALL":
			for _, w := range all {
				a[string(w)] = true
			}
		default:
			a[word] = true
		}
	}
	return a
}

func (a asked) wants(w What) bool { return a[string(w)] }

// calls reports whether mail may follow from a change: the record of its job says whether.
func calls(c *journal.Change) bool {
	if c.Kind == journal.ChangeFinding {
		return c.Finding.Rule == idle.Name && c.Job != 0
	}
	if c.Kind != journal.ChangeMove || c.Move.Tasks.Len() > 0 { // many tasks of an array that were cancelled while they waited
		return false
	}
	switch c.Move.What {
	case journal.MoveStart, journal.MoveRequeue, journal.MoveEnd, journal.MoveInvalidDepend:
		return true
	}
	return false
}

// mailsOf are the mails that a step of a job's life calls for, as slurmctld sends them: of an array one of each kind, and of its tasks only if ARRAY_TASKS asks for it.
// limit is the job's time limit.
func mailsOf(j *federation.Job, c *journal.Commit, m *journal.Move, limit func(*federation.Job) time.Duration) (out []Entry) {
	a := askedBy(j.Spec)
	if len(a) == 0 || j.Component != nil { // the leader of a heterogeneous job speaks for all
		return nil
	}
	task, single := taskOf(j, m)
	if task >= MostTasks {
		return nil
	}
	add := func(w What) { out = append(out, newEntry(j, c, m, w)) }
	if !single || a[arrayTasks] {
		if w := whatOf(a, m); w != "" {
			add(w)
		}
	}
	if m.What == journal.MoveEnd && (m.State == federation.Completed) && a.wants(StageOut) && stagesOut(j) && len(out) == 0 && (!single || a[arrayTasks]) {
		add(StageOut) // its results are home; else the mail of its end says so
	}
	if m.What == journal.MoveEnd && m.State == federation.Timeout && a.wants(TimeLimit) {
		add(TimeLimit)
	}
	if m.What != journal.MoveStart || j.Whole != nil || j.Start.IsZero() {
		return out
	}
	of := limit(j)
	for _, p := range parts {
		if !a.wants(p.what) || of <= 0 || of == sbatch.Unlimited {
			continue
		}
		e := newEntry(j, c, m, p.what)
		e.Start = j.Start
		e.Due = j.Start.Add(of * time.Duration(p.percent) / 100)
		out = append(out, e)
	}
	return out
}

// whatOf is what a step is called where it was asked for; "": it was not.
func whatOf(a asked, m *journal.Move) What {
	w := map[journal.MoveKind]What{journal.MoveStart: Begin, journal.MoveRequeue: Requeue, journal.MoveInvalidDepend: InvalidDepend, journal.MoveEnd: End}[m.What]
	if m.What == journal.MoveEnd && !slices.Contains([]federation.State{federation.Completed, federation.Cancelled}, m.State) && a.wants(Fail) {
		w = Fail
	}
	if !a.wants(w) {
		return ""
	}
	return w
}

// taskOf is which task of its array a job or a step is of, from 0, in the order of their indices as far as they have one step between them.
func taskOf(j *federation.Job, m *journal.Move) (n int, single bool) {
	switch {
	case j.Part != nil:
		return (j.Part.Index - j.Part.Min) / max(j.Part.Step, 1), true
	case m.Task >= 0 && j.Whole != nil:
		return (m.Task - j.Whole.Min) / max(j.Whole.Step, 1), true
	case m.Task >= 0:
		return 0, true
	}
	return 0, false
}

func stagesOut(j *federation.Job) bool { return j.Spec.Fed != nil && len(j.Spec.Fed.StageOut) > 0 }

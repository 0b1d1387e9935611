package submission

import (
	"fmt"
	"strings"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/audit"
)

// Audited is what the audit log says of a request: nothing where the job is the actor's own.
func Audited(who audit.Actor, job *federation.Job, r *action.Request) []audit.Entry {
	if who.UID == job.UID {
		return nil
	}
	e := audit.Entry{At: r.At, Who: who, Verb: string(r.Kind), Kind: audit.Job, Object: NameOf(job, r.Tasks), Before: string(job.State)}
	switch r.Kind {
	case action.Update:
		var changes []string
		for _, c := range r.Change {
			changes = append(changes, c.Key+"="+c.Value)
		}
		e.After = strings.Join(changes, " ")
	case action.Move:
		e.After, e.Why = "away from "+string(r.Move.From), r.Move.Why
		if len(r.Move.To) > 0 {
			e.After = fmt.Sprint("to ", r.Move.To)
		}
	case action.Signal:
		e.After = "signal " + r.Signal.Name
	}
	return []audit.Entry{e}
}

// NameOf names a job, or tasks of an array, as squeue does.
func NameOf(job *federation.Job, tasks federation.TaskSet) string {
	if p := job.Part; p != nil {
		return fmt.Sprintf("%d_%d", p.Array, p.Index)
	}
	if tasks.Len() == 0 {
		return job.ID.String()
	}
	return fmt.Sprintf("%d_[%s]", job.ID, tasks.Format(0))
}

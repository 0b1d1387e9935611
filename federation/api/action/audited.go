package action

import (
	"fmt"
	"strings"

	"fsub/federation"
	"fsub/federation/api/audit"
	"fsub/federation/api/identity"
)

// audited is what the audit log says of a request: nothing where the job is the caller's own.
func audited(c identity.Caller, job *federation.Job, r *federation.Request) []federation.AuditEntry {
	if c.UID == job.UID {
		return nil
	}
	e := federation.AuditEntry{At: r.At, Who: audit.By(c), Verb: string(r.Kind), Kind: federation.AuditJob, Object: nameOf(job, r.Tasks), Before: string(job.State)}
	switch r.Kind {
	case federation.RequestUpdate:
		var changes []string
		for _, c := range r.Change {
			changes = append(changes, c.Key+"="+c.Value)
		}
		e.After = strings.Join(changes, " ")
	case federation.RequestSignal:
		e.After = "signal " + r.Signal.Name
	}
	return []federation.AuditEntry{e}
}

// nameOf names a job, or tasks of an array, as squeue does.
func nameOf(job *federation.Job, tasks []int) string {
	if p := job.Part; p != nil {
		return fmt.Sprintf("%d_%d", p.Array, p.Index)
	}
	if len(tasks) == 0 {
		return job.ID.String()
	}
	return fmt.Sprintf("%d_[%s]", job.ID, federation.FormatArray(tasks, 0))
}

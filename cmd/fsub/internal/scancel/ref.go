package scancel

import (
	"strconv"
	"strings"

	"fsub/cmd/fsub/internal/show"
	"fsub/federation"
	"fsub/slurm/wire"
)

// ref is a job as it was named: 17, 17_3, 17_[1-3].
type ref struct {
	text  string
	id    federation.JobID
	tasks []int // empty: the whole job
}

// parseRef reads one job. A step of it stands for the job as a whole where it is the batch script's; others the
// federation does not know.
func parseRef(text string) (ref, bool) {
	base, step, hasStep := strings.Cut(text, ".")
	if hasStep && step != "batch" {
		return ref{}, false
	}
	idText, taskText, hasTask := strings.Cut(base, "_")
	n, err := strconv.ParseUint(idText, 10, 32)
	if err != nil || n == 0 {
		return ref{}, false
	}
	r := ref{text: text, id: federation.JobID(n)}
	if hasTask {
		if r.tasks = show.Ranges(taskText); len(r.tasks) == 0 {
			return ref{}, false
		}
	}
	return r, true
}

// isStep reports whether text names a step of a job, other than its batch script.
func isStep(text string) bool {
	base, step, has := strings.Cut(text, ".")
	_, ok := parseRef(base)
	_, err := strconv.ParseUint(step, 10, 32)
	return has && ok && (err == nil || step == "extern")
}

func masterOf(j *wire.Job) int64 {
	if id := j.ArrayJobID.Value(); id != 0 {
		return id
	}
	return j.JobID
}

// refOf names a job of a listing: a task by itself, and the tasks that wait as a list.
func refOf(j *wire.Job) ref {
	id := masterOf(j)
	r := ref{text: strconv.FormatInt(id, 10), id: federation.JobID(id)}
	switch {
	case j.ArrayTaskID.Set:
		r.tasks = []int{int(j.ArrayTaskID.Number)}
		r.text += "_" + strconv.FormatInt(j.ArrayTaskID.Number, 10)
	case j.ArrayTaskString != "":
		r.tasks = show.Ranges(j.ArrayTaskString)
		list, _, _ := strings.Cut(j.ArrayTaskString, "%")
		r.text += "_[" + list + "]"
	}
	return r
}

package scancel

import (
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/federation"
	"fsub/slurm/wire"
)

// ref is a job as it was named: 17, 17_3, 17_[1-3], 17+1, 17.0.
type ref struct {
	text  string
	given string // as it was written: in a job with its site's number, text has the federation's
	id    federation.JobID
	tasks federation.TaskSet // empty: the whole job
	step  string             // "": none
}

// parseRef reads one job or step. Steps have numbers: scancel has no name for the batch script's.
func parseRef(text string) (ref, bool) {
	base, step, hasStep := strings.Cut(text, ".")
	if _, err := strconv.ParseUint(step, 10, 32); hasStep && err != nil {
		return ref{}, false
	}
	idText, taskText, hasTask := strings.Cut(base, "_")
	idText, offsetText, hasOffset := strings.Cut(idText, "+")
	n, err := strconv.ParseUint(idText, 10, 32)
	if err != nil || n == 0 {
		return ref{}, false
	}
	if hasOffset {
		offset, err := strconv.ParseUint(offsetText, 10, 8)
		if err != nil || hasTask {
			return ref{}, false
		}
		n += offset // a component's number
	}
	r := ref{text: text, given: text, id: federation.JobID(n), step: step}
	switch {
	case hasTask && taskText == "":
		r.tasks = federation.Tasks(-1) // no task that is: scancel says so of "17_"
	case hasTask:
		if r.tasks = show.Tasks(taskText); r.tasks.Len() == 0 {
			return ref{}, false
		}
	}
	if hasStep && (r.tasks.Len() > 1 || strings.Contains(base, "[")) {
		return ref{}, false
	}
	return r, true
}

func masterOf(j *wire.Job) int64 {
	if id := j.ArrayJobID.Value(); id != 0 {
		return id
	}
	return j.JobID
}

// refOf names a job of a listing: a task by itself, the tasks that wait as a list, a component with its leader.
func refOf(j *wire.Job) ref {
	id := masterOf(j)
	r := ref{text: strconv.FormatInt(id, 10), id: federation.JobID(id)}
	switch {
	case j.ArrayTaskID.Set:
		r.tasks = federation.Tasks(int(j.ArrayTaskID.Number))
		r.text += "_" + strconv.FormatInt(j.ArrayTaskID.Number, 10)
	case j.ArrayTaskString != "":
		r.tasks = show.Tasks(j.ArrayTaskString)
		list, _, _ := strings.Cut(j.ArrayTaskString, "%")
		r.text += "_[" + list + "]"
	case j.HetJobID.Value() != 0:
		r.text = strconv.FormatInt(j.HetJobID.Number, 10) + "+" + strconv.FormatInt(j.HetJobOffset.Value(), 10)
	}
	return r
}

package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/api/client"
	. "fsub/federation/web/html"
)

// mostTasks of an array are listed, those that failed first; the others are counted.
const mostTasks = 20

// manyTasks is from how many on all who look at an array are shown what was read once.
const manyTasks = 500

// arrays are large ones, with their tasks. Everybody may see jobs.
type arrays struct{ shelf[*client.JobRecord] }

// job reads a job. A large array is read again only when it is too old, whoever asks: that takes all its tasks.
func (a *arrays) job(s *server, r *http.Request, id federation.JobID) (*client.JobRecord, error) {
	which := viewer{what: id.String()}
	read := func() (*client.JobRecord, error) { return s.api.Job(r.Context(), id) }
	if k := a.known(which); k != nil {
		return k.get(s.Now, seenLife, read)
	}
	rec, err := read()
	if err == nil && rec.Job.Whole != nil && len(rec.Tasks) >= manyTasks {
		a.of(which)
	}
	return rec, err
}

// titleOf is what the page of a job is called.
func titleOf(j *federation.Job) string {
	switch {
	case j.Whole != nil:
		return "Array " + j.ID.String()
	case j.Part != nil:
		return fmt.Sprintf("Job %d_%d", j.Part.Array, j.Part.Index)
	}
	return "Job " + j.ID.String()
}

// partOf leads from a task to its array.
func (s *server) partOf(r *http.Request, j *federation.Job) Node {
	if j.Part == nil || j.Part.Array == 0 {
		return nil
	}
	return E("span", ", one of "+count(j.Part.Count, "task")+" of ", E("a", A("href", s.at(r)+"/job/"+j.Part.Array.String()), "array "+j.Part.Array.String()), ", by itself job "+j.ID.String())
}

// tasks says what has become of the tasks of an array: counts, and those that failed first.
func (s *server) tasks(r *http.Request, rec *client.JobRecord) Node {
	if rec.Job.Whole == nil {
		return nil
	}
	n := taskCounts(rec)
	ul := E("ul", Class("counts"), A("aria-label", "Tasks by state"))
	for _, st := range slices.Sorted(maps.Keys(n)) {
		if n[st] > 0 {
			ul.Children = append(ul.Children, E("li", cell("tasks/"+string(st), "number", strconv.Itoa(n[st])), " ", strings.ToLower(string(st))))
		}
	}
	list := s.at(r) + "/jobs?user=&id=" + rec.Job.ID.String()
	parts := []any{taskBar(n), ul, E("p", Class("links"), E("a", A("href", list), "Tasks that have not ended"), E("a", A("href", list+"&state=ended"), "Those that have"), E("a", A("href", list+"&state=failed"), "Those that failed"))}
	failed := firstFailures(rec.Tasks)
	if len(failed) > 0 {
		rows := [][]string{{"TASK", "STATE", "WHY", "NODES", "ENDED", "EXIT"}}
		for _, t := range failed {
			rows = append(rows, []string{strconv.Itoa(t.Index), string(t.State), strings.TrimPrefix(string(t.Reason), "None"), t.Nodes, stamp(t.End), exitText(t.ExitStatus)})
		}
		parts = append(parts, linkedTable("First tasks that failed", rows, func(i int) string {
			if failed[i].ID == 0 {
				return ""
			}
			return s.at(r) + "/job/" + failed[i].ID.String()
		}))
	}
	return section("Tasks", parts...)
}

func exitText(status int32) string { return fmt.Sprintf("%d:%d", status>>8, status&0x7f) }

// taskCounts counts an array's tasks by state. Those without a record wait, or were cancelled while they did.
func taskCounts(rec *client.JobRecord) map[federation.State]int {
	n := map[federation.State]int{}
	known := 0
	for i := range rec.Tasks {
		n[rec.Tasks[i].State]++
		known++
	}
	for _, c := range rec.Job.Whole.Cancelled {
		n[federation.Cancelled] += c.Tasks.Len()
		known += c.Tasks.Len()
	}
	if left := rec.Job.Whole.Count - known; left > 0 && rec.Job.State.Ended() {
		n[federation.Cancelled] += left
	} else if left > 0 {
		n[federation.Pending] += left
	}
	return n
}

// firstFailures are the tasks that ended badly, the earliest first. A task that was cancelled did not fail.
func firstFailures(all []federation.Task) (failed []*federation.Task) {
	for i := range all {
		if t := &all[i]; t.State.Ended() && t.State != federation.Completed && t.State != federation.Cancelled {
			failed = append(failed, t)
		}
	}
	slices.SortFunc(failed, func(a, b *federation.Task) int { return cmp.Or(a.End.Compare(b.End), cmp.Compare(a.Index, b.Index)) })
	return failed[:min(len(failed), mostTasks)]
}

// taskBar draws the counts as one bar: the list beside it has the same in words.
func taskBar(n map[federation.State]int) Node {
	const width, height = 720, 18
	total, classes := 0, map[string]int{}
	for st, k := range n {
		classes[stateClass(st)] += k
		total += k
	}
	svg := E("svg", A("viewBox", fmt.Sprintf("0 0 %d %d", width, height)), A("preserveAspectRatio", "none"), A("role", "img"), A("aria-label", "Tasks by state; the list has the same"), Class("taskbar"))
	x := 0.0
	for _, class := range []string{"good", "bad", "ended", "runs", "waits"} {
		w := width * float64(classes[class]) / float64(max(total, 1))
		if w > 0 {
			svg.Children = append(svg.Children, E("rect", Class(class), num("x", x), num("y", 0), num("width", max(w-1, 1)), num("height", height)))
			x += w
		}
	}
	return svg
}

package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/demand"
	. "fsub/federation/web/html"
	"fsub/sbatch"
)

// used is what a job asked for, and of one that has ended what it used of it.
func (s *server) used(r *http.Request, j *federation.Job) Node {
	need := j.Needs()
	limit := "none"
	if need.TimeLimit > 0 && need.TimeLimit != sbatch.Unlimited {
		limit = v1.Age(need.TimeLimit)
	}
	dl := facts("Nodes", nodesText(need), "Tasks", atLeast(2, need.Tasks), "CPUs a task", atLeast(1, need.CPUsPerTask), "CPUs a GPU", atLeast(1, need.CPUsPerGPU), "Memory", memoryText(need), "GPUs and others", gresText(need), "Time limit", limit, "Submitted", moment(j.Submit), "Restarts", j.Restarts,
		"Directory", E("code", j.Spec.WorkDir))
	rows := s.usedRows(r.Context(), j)
	if rows == nil {
		return section("What it asked for", dl)
	}
	return section("What it asked for, and used", dl, textTable("Used of what it held", rows))
}

// usedRows say how much of its time, CPUs and memory a job has used. Nil: that is not known, or not yet; of an array each task says it.
func (s *server) usedRows(ctx context.Context, j *federation.Job) [][]string {
	if !j.State.Ended() || j.Start.IsZero() || j.Whole != nil {
		return nil
	}
	got, err := client.Get[v1.AccountingResponse](ctx, s.api, "/fed/v1/accounting?job_id="+j.ID.String())
	if err != nil || len(got.Jobs) == 0 {
		return nil // the page has the rest
	}
	e := got.Jobs[len(got.Jobs)-1].Efficiency()
	rows := [][]string{{"OF", "HELD", "USED", "PART"}}
	add := func(what, held, used string, a, b int64) {
		if b > 0 {
			rows = append(rows, []string{what, held, used, fmt.Sprintf("%d %%", (100*a+b/2)/b)})
		}
	}
	if limit := j.Needs().TimeLimit; limit > 0 && limit != sbatch.Unlimited {
		add("Time limit", v1.Age(limit), v1.Age(time.Duration(e.Wall)*time.Second), e.Wall, int64(limit.Seconds()))
	}
	if e.CPU > 0 {
		add("CPU time", v1.Age(time.Duration(e.CPUOf)*time.Second), v1.Age(time.Duration(e.CPU)*time.Second), e.CPU, e.CPUOf)
	}
	if e.Mem > 0 {
		add("Memory", mebibytes(e.MemOf/1024), mebibytes(e.Mem/1024), e.Mem, e.MemOf)
	}
	if len(rows) == 1 {
		return nil
	}
	return rows
}

// mebibytes writes an amount of memory: "512 MiB", "1.5 GiB".
func mebibytes(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " MiB"
	}
	return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1024, 'f', 1, 64), ".0") + " GiB"
}

func nodesText(d *demand.Demand) any {
	switch {
	case d.MinNodes == 0:
		return nil
	case d.MaxNodes > d.MinNodes:
		return fmt.Sprintf("%d to %d", d.MinNodes, d.MaxNodes)
	}
	return strconv.Itoa(d.MinNodes)
}

// perText is what there is so much of something for.
func perText(b demand.Basis) string {
	return map[demand.Basis]string{demand.PerNode: "a node", demand.PerJob: "for the job", demand.PerTask: "a task", demand.PerSocket: "a socket", demand.PerCPU: "a CPU", demand.PerGPU: "a GPU"}[b]
}

// atLeast is a number that is shown from a least one on.
func atLeast(least, n int) any {
	if n < least {
		return nil
	}
	return strconv.Itoa(n)
}

func memoryText(d *demand.Demand) any {
	switch {
	case d.Memory.Amount == sbatch.MemAll:
		return "all of each node"
	case d.Memory.Amount == 0:
		return nil
	}
	return mebibytes(int64(d.Memory.Amount)) + " " + perText(d.Memory.Per)
}

func gresText(d *demand.Demand) any {
	if len(d.GRES) == 0 {
		return nil
	}
	var all []string
	for _, g := range d.GRES {
		all = append(all, fmt.Sprintf("%d %s %s", g.Count, g.Resource, perText(g.Per)))
	}
	return strings.Join(all, ", ")
}

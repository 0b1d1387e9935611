package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	v1 "fsub/federation/api/v1"
	"fsub/federation/driver"
	"fsub/federation/usage"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// steps tells of the steps of jobs that run, and sends them signals.
type steps struct {
	store   Store
	teller  driver.StepTeller // nil: no site tells
	signals map[federation.SiteName]driver.StepSignaller
}

// getSteps is GET /fed/v1/steps: the steps that run of the jobs that job_id names, of all jobs without it, but for their batch scripts. Of jobs at sites that
// do not tell there are none.
func (s *steps) getSteps(w http.ResponseWriter, r *http.Request, _ identity.Caller, q v1.StepQuery) error {
	var ids []federation.JobID
	for _, text := range hostlist.Split(strings.Join(q.JobID, ",")) {
		id, tasks, err := restd.ParseRef(text)
		if err != nil {
			return err
		}
		if tasks.Len() > 0 { // tasks of an array have numbers of their own, which only a listing tells
			ids = nil
			break
		}
		job, err := s.numbered(r.Context(), id)
		if err != nil && !errors.Is(err, federation.ErrNotFound) {
			return answer.OfStore(err, answer.NoContact)
		}
		ids = append(ids, job.ID) // 0 has none
	}
	out := []v1.Step{}
	if s.teller != nil {
		for _, step := range s.teller.Steps(ids, false) {
			out = append(out, stepOf(&step))
		}
	}
	return answer.JSON(w, out)
}

// numbered is the job that Slurm's commands call by a number: of an array's own, the last of its tasks, if there is one yet.
func (s *steps) numbered(ctx context.Context, number federation.JobID) (federation.Job, error) {
	jobs, err := s.store.Jobs(ctx, federation.JobQuery{IDs: []federation.JobID{number}})
	at := slices.IndexFunc(jobs, func(j federation.Job) bool { return j.ID != number && j.Number() == number })
	if at < 0 {
		at = slices.IndexFunc(jobs, func(j federation.Job) bool { return j.ID == number })
	}
	switch {
	case err != nil:
		return federation.Job{}, err
	case at < 0:
		return federation.Job{}, federation.ErrNotFound
	}
	return jobs[at], nil
}

func stepOf(s *driver.LiveStep) v1.Step {
	out := v1.Step{Job: int64(cmp.Or(s.Number, s.Job)), ID: s.ID, Name: s.Name, Nodes: s.Nodes, NumNodes: s.NumNodes, Tasks: s.NumTasks, Start: s.Start.Unix(), Layout: s.Layout,
		Limit: int64(s.Limit / time.Second), SrunHost: s.SrunHost, SrunPID: s.SrunPID}
	var list []string
	for _, a := range s.Allocated {
		list = append(list, tresText(a))
		if a.Type == "cpu" {
			out.CPUs = int(a.Count)
		}
	}
	slices.Sort(list)
	out.TRES = strings.Join(list, ",")
	return out
}

func tresText(a usage.Amount) string {
	key, value := a.Type, strconv.FormatInt(a.Count, 10)
	if a.Name != "" {
		key += "/" + a.Name
	}
	if a.Type == "mem" {
		value = restd.MemText(sbatch.MemMiB(a.Count))
	}
	return key + "=" + value
}

package sacct

import (
	"fmt"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// printDocument is --json and --yaml, in slurmrestd's shape.
func (c *command) printDocument(jobs []v1.AccountingJob, reply wire.Reply) error {
	out := wire.DBJobsResponse{Reply: reply, Jobs: make(wire.List[wire.DBJob], len(jobs))}
	for i := range jobs {
		out.Jobs[i] = jobs[i].DBJob
	}
	if err := show.Document(c.stdout, &out, &out.Reply, "sacct", c.args, c.yaml); err != nil {
		return fmt.Errorf("sacct: error: %w", err)
	}
	return nil
}

// printPayloads is --batch-script and --env-vars. Of a job that is not known nothing is printed; of
// another user's the word NONE.
func (c *command) printPayloads(jobs []v1.AccountingJob) error {
	for i := range jobs {
		j := &jobs[i]
		id := j.JobID
		if j.Array.JobID != 0 {
			id = j.Array.JobID
		} else if j.Het.JobID != 0 {
			id = j.Het.JobID
		}
		var answer v1.PayloadResponse
		err := show.Get(c.caller, "/fed/v1/job/"+strconv.FormatInt(id, 10)+"/payload", &answer)
		p := answer.Exact()
		if f, ok := err.(*show.Failure); ok && f.Number == wire.ErrUserID {
			p.Script, p.Environment = "NONE", []string{"NONE"}
		} else if err != nil {
			return fmt.Errorf("sacct: error: %w", err)
		}
		title, text := "Batch Script for %s", strings.TrimSuffix(p.Script, "\n")
		if c.envVars {
			title, text = "Environment used for %s (must be batch to display)", strings.Join(p.Environment, "\n")
		}
		if !c.noHeader {
			fmt.Fprintf(c.stdout, title+"\n%s\n", displayID(&record{j, nil}), strings.Repeat("-", 80))
		}
		fmt.Fprintln(c.stdout, text)
	}
	return nil
}

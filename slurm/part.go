package slurm

import (
	"fmt"

	"fsub/federation"
)

// asPart makes the one task of an array that is spread over sites look like one: it is submitted as a job of its own, and finds in its
// environment and in its file names what the task of an array would find. old: its site is 22.05, which does not know %b yet.
func asPart(s federation.Submission, old bool) federation.Submission {
	job := *s.Job
	p := job.Part
	withEnvironment(&s,
		fmt.Sprintf("SLURM_ARRAY_JOB_ID=%d", p.Array), fmt.Sprintf("SLURM_ARRAY_TASK_ID=%d", p.Index), fmt.Sprintf("SLURM_ARRAY_TASK_COUNT=%d", p.Count),
		fmt.Sprintf("SLURM_ARRAY_TASK_MIN=%d", p.Min), fmt.Sprintf("SLURM_ARRAY_TASK_MAX=%d", p.Max), fmt.Sprintf("SLURM_ARRAY_TASK_STEP=%d", p.Step))
	index := uint64(p.Index)
	numbers := patternNumbers{'A': uint64(p.Array), 'a': index}
	if !old {
		numbers['b'] = index % 10
	}
	numbers.files(&job, defaultArrayOutput)
	s.Job = &job
	return s
}

// withIDs puts the federated ID where the site's own would be: in file names and, for commands within the job, in the environment.
func withIDs(s federation.Submission) federation.Submission {
	job := *s.Job
	id := uint64(job.Number())
	switch {
	case job.Spec.Array != "": // %j and %J are different for each task: the site's own
		withEnvironment(&s, "FSUB_JOB_ID="+job.ID.String(), "FSUB_ARRAY_JOB_ID="+job.ID.String())
		patternNumbers{'A': id}.files(&job, defaultArrayOutput)
	case job.Part != nil:
		withEnvironment(&s, "FSUB_JOB_ID="+job.Number().String(), "FSUB_ARRAY_JOB_ID="+job.Part.Array.String())
		patternNumbers{'j': id, 'J': id}.files(&job, defaultOutput)
	default:
		withEnvironment(&s, "FSUB_JOB_ID="+job.ID.String())
		patternNumbers{'j': id, 'J': id, 'A': id}.files(&job, defaultOutput)
	}
	s.Job = &job
	return s
}

package restd

import (
	"path"

	"fsub/federation"
	"fsub/sbatch"
)

// stdFile is where a job's output goes: the pattern as written (made absolute), with "" for what is not asked for
// replaced by sbatch's default.
func stdFile(j *federation.Job, pattern string) string {
	if pattern == "" {
		pattern = "slurm-%j.out"
		if j.Spec.Array != "" || j.Part != nil || j.Whole != nil {
			pattern = "slurm-%A_%a.out"
		}
	}
	if !path.IsAbs(pattern) {
		return path.Join(j.Spec.WorkDir, pattern)
	}
	return pattern
}

// OutputFile is the file on this machine that a job's output goes to, or its errors. t is the task of an array, nil for any other job.
func OutputFile(j *federation.Job, t *federation.Task, stderr bool) string {
	pattern := j.Spec.Output
	if stderr && j.Spec.Error != "" {
		pattern = j.Spec.Error
	}
	if pattern == "none" {
		return "/dev/null"
	}
	vars := sbatch.FileVars{Job: uint32(j.Number()), JobName: j.Spec.Name, User: j.User, Node: firstNode(j.Nodes)}
	if j.Part != nil {
		vars.ArrayJob, vars.Task = uint32(j.Part.Array), j.Part.Index
	}
	if t != nil {
		vars.ArrayJob, vars.Task, vars.Node = uint32(j.ID), t.Index, firstNode(t.Nodes)
		if t.SiteJobID != 0 {
			vars.Job = t.SiteJobID
		}
	}
	return sbatch.FileName(stdFile(j, pattern), vars)
}

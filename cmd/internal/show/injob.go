package show

import "strings"

// OwnTask translates a number that a job finds in its own environment, where it is its site's and
// not the federation's. That is the case at a site that gives numbers of its own, where the
// federated one is in FSUB_JOB_ID (of an array in FSUB_ARRAY_JOB_ID), and everywhere for the task
// of an array, which the federation calls by array and index. What follows the number (task,
// component, step: "17_2", "17+1", "17.batch") stays. Any other text is left as it is: outside of a
// job it is the federation's already, and of other jobs at the site nothing is known here.
func OwnTask(env []string, ref string) string {
	end := strings.IndexAny(ref, "._+[")
	if end < 0 {
		end = len(ref)
	}
	id, rest := ref[:end], ref[end:]
	if id == "" {
		return ref
	}
	job, array, task := Env(env, "SLURM_JOB_ID"), Env(env, "SLURM_ARRAY_JOB_ID"), Env(env, "SLURM_ARRAY_TASK_ID")
	fedArray := orText(Env(env, "FSUB_ARRAY_JOB_ID"), array)
	switch {
	case array != "" && id == array: // also the last task's own number, which is the array's, as in Slurm
		return fedArray + rest
	case id != job:
		return ref
	case array != "" && task != "":
		return fedArray + "_" + task + rest
	}
	return orText(Env(env, "FSUB_JOB_ID"), id) + rest
}

// OwnTasks is OwnTask for each of refs.
func OwnTasks(env, refs []string) []string {
	for i := range refs {
		refs[i] = OwnTask(env, refs[i])
	}
	return refs
}

// OwnDependency is OwnTask for every job in the value of --dependency: "afterok:17:18_2,after:17+5?singleton".
func OwnDependency(env []string, text string) string {
	if Env(env, "SLURM_JOB_ID") == "" {
		return text
	}
	var b strings.Builder
	for text != "" {
		n := strings.IndexAny(text, ",?:")
		if n < 0 {
			n = len(text)
		}
		b.WriteString(OwnTask(env, text[:n]))
		if n < len(text) {
			b.WriteByte(text[n])
			n++
		}
		text = text[n:]
	}
	return b.String()
}

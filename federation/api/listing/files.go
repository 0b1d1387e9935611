package listing

import (
	"path"
	"strconv"
	"strings"

	"fsub/federation"
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

// fileVars are what a file name pattern may refer to.
type fileVars struct {
	id    federation.JobID // %A, and %j outside arrays
	jobID uint32           // %j of an array's task
	task  int              // %a; negative: none
	name  string           // %x
	user  string           // %u
	node  string           // %N
}

// expandFile replaces the patterns of a file name. A backslash anywhere switches that off.
func expandFile(pattern string, v fileVars) string {
	if strings.Contains(pattern, `\`) {
		return strings.ReplaceAll(pattern, `\`, "")
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			b.WriteByte(pattern[i])
			continue
		}
		j := i + 1
		for j < len(pattern) && pattern[j] >= '0' && pattern[j] <= '9' {
			j++
		}
		width, _ := strconv.Atoi(pattern[i+1 : j])
		text, ok := "", false
		if j < len(pattern) {
			text, ok = v.value(pattern[j], width)
		}
		if !ok {
			b.WriteByte('%')
			continue
		}
		b.WriteString(text)
		i = j
	}
	return b.String()
}

// value is what one letter stands for; numbers are padded with zeros to width.
func (v fileVars) value(letter byte, width int) (string, bool) {
	task := uint64(v.task)
	if v.task < 0 {
		task = 4294967294 // NO_VAL, as Slurm prints it outside arrays
	}
	var n uint64
	switch letter {
	case '%':
		return "%", true
	case 'x':
		return v.name, true
	case 'u':
		return v.user, true
	case 'N':
		return v.node, true
	case 's':
		return "batch", true
	case 'A':
		n = uint64(v.id)
	case 'j', 'J':
		n = uint64(v.jobID)
	case 'a':
		n = task
	case 'b':
		n = task % 10
	case 'n', 't':
		n = 0
	default:
		return "", false
	}
	text := strconv.FormatUint(n, 10)
	if pad := min(width, 10) - len(text); pad > 0 {
		text = strings.Repeat("0", pad) + text
	}
	return text, true
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
	vars := fileVars{id: j.ID, jobID: uint32(j.ID), task: -1, name: j.Spec.Name, user: j.User, node: firstNode(j.Nodes)}
	if j.Part != nil {
		vars.id, vars.task = j.Part.Array, j.Part.Index
	}
	if t != nil {
		vars.task, vars.node = t.Index, firstNode(t.Nodes)
		if t.SiteJobID != 0 {
			vars.jobID = t.SiteJobID
		}
	}
	return expandFile(stdFile(j, pattern), vars)
}

// Package pack lets several tasks of an array run in one job of their site (#FSUB --pack). [Script] makes the job's script, which runs the user's
// once for each [Task] and writes to a file beside the job when each begins and ends; [Read] reads that file. What becomes of tasks is not decided here. Pure,
// but for [Files], an interface.
package pack

import (
	"context"
	_ "embed" // wrapper.sh
	"fmt"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// Files are those in which the daemon and the script of a pack tell each other what happens. They are read and written with the rights of the job's owner.
// ErrDenied, ErrInvalid: he may not, or there is no such directory.
type Files interface {
	// Write replaces a file, or appends to it.
	Write(ctx context.Context, owner *federation.Job, name string, appendTo bool, text string) error
	// Read reads files of one owner. A file that is not there is nil.
	Read(ctx context.Context, owner *federation.Job, names []string) ([][]byte, error)
	// Remove removes files. Those that are not there are no error.
	Remove(ctx context.Context, owner *federation.Job, names []string) error
}

// Name begins the names of the files of a pack.
func Name(dir string, id federation.JobID) string {
	return strings.TrimSuffix(dir, "/") + "/.fsub-pack-" + id.String()
}

// Names are the files of a pack.
func Names(dir string, id federation.JobID) (status, control string) {
	name := Name(dir, id)
	return name + ".status", name + ".control"
}

// Task is one task of a pack.
type Task struct {
	Index int
	ID    federation.JobID // of the task's own job
}

// Pack is what a job that runs several tasks is made of.
type Pack struct {
	ID    federation.JobID // of the job at the site
	Of    *federation.ArrayPart
	Spec  *sbatch.Spec // of a task
	User  string
	Tasks []Task
	Side  int // how many run side by side
}

//go:embed wrapper.sh
var wrapper string

// Script is the script of the job. It needs bash 4.2 and setsid.
func (p *Pack) Script(script string) string {
	var b strings.Builder
	limit := 0
	if p.Spec.TimeLimit > 0 && p.Spec.TimeLimit != sbatch.Unlimited {
		limit = int(p.Spec.TimeLimit / time.Second)
	}
	appends := 0
	if p.Spec.OpenMode == "append" {
		appends = 1
	}
	fmt.Fprintf(&b, "_fsub_to=%s _fsub_side=%d _fsub_limit=%d _fsub_append=%d\n", quote(Name(p.Spec.WorkDir, p.ID)), p.Side, limit, appends)
	fmt.Fprintf(&b, "_fsub_array=%d _fsub_count=%d _fsub_min=%d _fsub_max=%d _fsub_step=%d\n", p.Of.Array, p.Of.Count, p.Of.Min, p.Of.Max, p.Of.Step)
	list := func(name string, of func(Task) string) {
		b.WriteString("_fsub_" + name + "=(")
		for i, t := range p.Tasks {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(of(t))
		}
		b.WriteString(")\n")
	}
	list("index", func(t Task) string { return strconv.Itoa(t.Index) })
	list("job", func(t Task) string { return t.ID.String() })
	output := p.Spec.Output
	if output == "" {
		output = "slurm-%A_%a.out"
	}
	head := b.String()
	b.Reset() // the names of files may have that of the node, which is known further down
	list("out", func(t Task) string { return p.file(output, t) })
	list("err", func(t Task) string { return p.file(p.Spec.Error, t) })
	list("in", func(t Task) string {
		if p.Spec.Input == "" {
			return "/dev/null"
		}
		return p.file(p.Spec.Input, t)
	})
	before, after, _ := strings.Cut(wrapper, markFiles)
	text := "#!/bin/bash\n" + head + "_fsub_line=LINE\n" + before + b.String() + after + "# The user's script follows.\n"
	line := strings.Count(text, "\n") + 1
	return strings.Replace(text, "_fsub_line=LINE\n", fmt.Sprintf("_fsub_line=%d\n", line), 1) + script
}

// markFiles is the line of the wrapper that the names of the tasks' files take the place of.
const markFiles = "# FILES\n"

// nodeMark stands for the name of the node until the node is known.
const nodeMark = "\x01"

// file is a file of a task as a word of the shell; ” where there is no pattern.
func (p *Pack) file(pattern string, t Task) string {
	if pattern == "" {
		return "''"
	}
	name := sbatch.FileName(pattern, sbatch.FileVars{Job: uint32(t.ID), ArrayJob: uint32(p.Of.Array), Task: t.Index, JobName: p.Spec.Name, User: p.User,
		Node: nodeMark, Dir: p.Spec.WorkDir})
	return strings.ReplaceAll(quote(name), nodeMark, `'"$_fsub_node"'`)
}

// Unseen is the exit code of the script where the node does not see the files.
const Unseen = 75

// quote makes one word of text for a POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Orders of the control file.

// Kill has a task end, or never begin.
func Kill(index int) string { return fmt.Sprintf("kill %d\n", index) }

// Signal sends a signal to a task that runs.
func Signal(name string, index int) string { return fmt.Sprintf("signal %s %d\n", name, index) }

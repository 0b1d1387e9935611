package srun

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"fsub/cloud/steps/wire"
	"fsub/sbatch"
)

// sink is where the tasks' stdout or stderr goes.
type sink struct {
	w     io.Writer
	file  *os.File // nil: srun's own
	width int      // of a rank, if lines are labelled; else 0
	buf   bytes.Buffer
}

// write writes a piece of a task's stream, normally whole lines. With --label each line begins with
// its task, and ends with a newline even if the task's did not.
func (k *sink) write(rank uint32, b []byte) {
	if k.width == 0 || rank == wire.All {
		k.w.Write(b)
		return
	}
	k.buf.Reset()
	for line := range bytes.Lines(b) {
		fmt.Fprintf(&k.buf, "%*d: ", k.width, rank)
		k.buf.Write(line)
		if line[len(line)-1] != '\n' {
			k.buf.WriteByte('\n')
		}
	}
	k.w.Write(k.buf.Bytes())
}

func (k *sink) close() {
	if k.file != nil {
		k.file.Close()
	}
}

// openSinks opens what srun itself writes.
func (s *session) openSinks() error {
	c := s.first
	s.sinks[0], s.sinks[1] = &sink{w: s.stdout}, &sink{w: s.stderr}
	if c.label {
		s.sinks[0].width = len(strconv.Itoa(max(len(s.state)-1, 0)))
		s.sinks[1].width = s.sinks[0].width
	}
	if c.stdout != nil && ownFile(*c.stdout) != "" {
		f, err := s.open(*c.stdout, "stdout")
		if err != nil {
			return err
		}
		s.sinks[0].w, s.sinks[0].file = f, f
		if c.stderr == nil {
			s.sinks[1].w = f
		}
	}
	if c.stderr != nil && ownFile(*c.stderr) != "" {
		f, err := s.open(*c.stderr, "stderr")
		if err != nil {
			return err
		}
		s.sinks[1].w, s.sinks[1].file = f, f
	}
	return nil
}

// open opens a file of srun's own by its pattern.
func (s *session) open(pattern, what string) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if s.first.append {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	if what == "stdin" {
		flags = os.O_RDONLY
	}
	file := s.fileName(pattern)
	if what != "stdin" {
		os.MkdirAll(filepath.Dir(file), 0o755) // as 24.11 does; if it cannot be, opening says so
	}
	f, err := os.OpenFile(file, flags, 0o666)
	if err != nil {
		return nil, bad("Could not open %s file: %s", what, reason(err))
	}
	return f, nil
}

func (s *session) fileName(pattern string) string {
	dir, _ := os.Getwd()
	n := sbatch.FileVars{Job: s.layout.Job, JobName: envOf(s.env, "SLURM_JOB_NAME"), User: envOf(s.env, "USER"), Step: strconv.FormatUint(uint64(s.layout.Step), 10), Dir: dir}
	if s.first.name != "" {
		n.JobName = s.first.name
	}
	if a, err := strconv.ParseUint(envOf(s.env, "SLURM_ARRAY_JOB_ID"), 10, 32); err == nil {
		n.ArrayJob = uint32(a)
		n.Task, _ = strconv.Atoi(envOf(s.env, "SLURM_ARRAY_TASK_ID"))
	}
	return sbatch.FileName(pattern, n)
}

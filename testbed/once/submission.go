package once

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// Submission is one job that was asked for. Its token names it in the daemon's books and in the file of its runs, whatever
// ID it got.
type Submission struct {
	Token     string
	User      string
	Home      string
	Duration  time.Duration
	NoRequeue bool
	Feature   string // node feature that it needs: binds it to one site; "" any
	// Tasks, if not 0, make it an array of so many, of which AtOnce may run at the same time (0: all).
	Tasks, AtOnce int
	Task          int    // for one of its tasks: which
	Nodes         int    // if not 0
	Exclusive     bool   // its nodes are for it alone
	GRES          string // of each node

	ID federation.JobID // what was acknowledged; 0: no answer, it may have been accepted or not
}

// Request is the submission as the API takes it.
func (s *Submission) Request() v1.SubmitRequest {
	spec := sbatch.Spec{
		Name: s.Token, Constraint: s.Feature, NTasks: 1, TimeLimit: 5 * time.Minute, WorkDir: s.Home, Output: "/dev/null", Error: s.complaints(), OpenMode: "append",
	}
	if s.NoRequeue {
		no := false
		spec.Requeue = &no
	}
	if s.Tasks > 0 {
		if spec.Array = fmt.Sprintf("0-%d", s.Tasks-1); s.AtOnce > 0 {
			spec.Array += fmt.Sprintf("%%%d", s.AtOnce)
		}
	}
	if s.Nodes > 0 {
		spec.MinNodes, spec.MaxNodes, spec.NTasks = s.Nodes, s.Nodes, s.Nodes
	}
	if s.Exclusive {
		spec.Exclusive = "exclusive"
	}
	spec.GRES = s.GRES
	return v1.SubmitRequest{Spec: spec, Payload: sbatch.Payload{
		Script: s.script(), Environment: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + s.Home, "USER=" + s.User, "LANG=C.UTF-8"},
	}}
}

// script writes down that it begins and that it ends, each with one append.
func (s *Submission) script() string {
	line := `echo "%s ${FSUB_JOB_ID:-$SLURM_JOB_ID} ${SLURM_RESTART_COUNT:-0} $SLURM_CLUSTER_NAME $SLURMD_NODENAME ${SLURM_ARRAY_TASK_ID:--1} $(date +%%s.%%N)" >>` + s.runFile() + "\n"
	return "#!/bin/sh\n" + fmt.Sprintf(line, "begin") + fmt.Sprintf("sleep %.2f\n", s.Duration.Seconds()) + fmt.Sprintf(line, "end")
}

func (s *Submission) runFile() string { return filepath.Join(RunDir(s.Home), s.Token) }

// complaints is where the shell says what it could not do: write a line, or start a program.
func (s *Submission) complaints() string { return s.runFile() + ".err" }

// RunDir is where in a home the scripts write. It must exist.
func RunDir(home string) string { return filepath.Join(home, "once") }

// Run is one run of a script, as the script saw it. End is zero if the script did not come to its end.
type Run struct {
	ID         federation.JobID
	Restart    int
	Site       federation.SiteName
	Node       string
	Task       int // of an array; -1: it is none
	Begin, End time.Time
}

func (r Run) String() string {
	end := "did not end"
	if !r.End.IsZero() {
		end = "ended " + r.End.Format("15:04:05.000")
	}
	return fmt.Sprintf("job %d restart %d at %s on %s began %s, %s", r.ID, r.Restart, r.Site, r.Node, r.Begin.Format("15:04:05.000"), end)
}

// Runs reads what the script has written, in order of the beginnings.
func (s *Submission) Runs() ([]Run, error) {
	text, err := os.ReadFile(s.runFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var runs []Run
	for line := range strings.Lines(string(text)) {
		var what string
		var r Run
		var at string
		if _, err := fmt.Sscan(line, &what, &r.ID, &r.Restart, &r.Site, &r.Node, &r.Task, &at); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", s.runFile(), line, err)
		}
		when, err := parseTime(at)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", s.runFile(), line, err)
		}
		if what == "begin" {
			r.Begin = when
			runs = append(runs, r)
			continue
		}
		// The end of the newest run on the same node that has none yet: a node runs no task twice at a time.
		i := len(runs) - 1
		for i >= 0 && (runs[i].Node != r.Node || runs[i].Task != r.Task || runs[i].Restart != r.Restart || !runs[i].End.IsZero()) {
			i--
		}
		if i < 0 {
			return nil, fmt.Errorf("%s: %q: an end without a beginning", s.runFile(), line)
		}
		runs[i].End = when
	}
	slices.SortFunc(runs, func(a, b Run) int { return a.Begin.Compare(b.Begin) })
	return runs, nil
}

// parseTime reads seconds and nanoseconds since 1970: "1795200000.123456789".
func parseTime(s string) (time.Time, error) {
	sec, nano, _ := strings.Cut(s, ".")
	a, err1 := strconv.ParseInt(sec, 10, 64)
	b, err2 := strconv.ParseInt(nano, 10, 64)
	return time.Unix(a, b), errors.Join(err1, err2)
}

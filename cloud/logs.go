package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"fsub/cloud/agentapi"
	"fsub/federation"
)

// Log implements Agents.
func (a *agents) Log(ctx context.Context, id MachineID, run, stream string, offset int64, body io.Reader) (int64, error) {
	if err := a.isLoaded(ctx); err != nil {
		return 0, err
	}
	a.mu.Lock()
	m, err := a.fleet.machine(id)
	uid := uint32(0) // of a run that is over it is on record: its files are there
	if err == nil {
		if r := m.runs[run]; r != nil {
			uid = r.job.Job.UID
		}
		if _, over := m.over[run]; m.runs[run] == nil && !over || stream != "out" && stream != "err" {
			err = fmt.Errorf("output %.10q of run %.60q is not one of machine %s: %w", stream, run, id, federation.ErrDenied)
		}
	}
	a.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if !a.output.Kept() {
		n, err := io.Copy(io.Discard, body)
		return offset + n, err
	}
	size, err := a.output.Append(run+"."+stream, uid, offset, body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fleet.heard(m)
	if !m.stops[run].IsZero() {
		m.stops[run] = a.now() // it is busy with what the run has left to send
	}
	return size, err
}

// ReadLog implements federation.LogReader: of the last run of an attempt.
func (d *Driver) ReadLog(ctx context.Context, j *federation.Job, a *federation.Attempt, task int, stderr bool, offset int64, max int) (federation.LogPart, error) {
	if err := d.isLoaded(ctx); err != nil {
		return federation.LogPart{}, err
	}
	run, done, twoFiles, err := d.jobs.lastRun(ctx, j.Ref(a))
	if err != nil {
		return federation.LogPart{}, err
	}
	name := run + ".out"
	if stderr && twoFiles {
		name = run + ".err"
	}
	text, more, err := d.output.Read(name, offset, max)
	if errors.Is(err, federation.ErrNotFound) {
		return federation.LogPart{Done: done}, fmt.Errorf("output of job %d: %w", j.ID, err)
	}
	return federation.LogPart{Text: text, More: more, Done: err == nil && done && !more}, err
}

// lastRun is the newest run of an attempt, and whether it writes no more.
func (js *jobTable) lastRun(ctx context.Context, ref federation.JobRef) (run string, done, twoFiles bool, err error) {
	js.mu.Lock()
	j := js.byID[ref.ID]
	var r *jobRecord
	if j != nil && j.Key == ref.Key {
		r = &j.jobRecord
		done = j.run == nil || j.run.Members[0].State == agentapi.RunEnded
		if r.Run != nil {
			run = r.Run.ID
		}
		twoFiles = twoOutputs(r)
	}
	js.mu.Unlock()
	if r == nil {
		if r, err = js.recorded(ctx, ref); err != nil {
			return "", false, false, err
		}
		done, twoFiles = true, twoOutputs(r)
		if r.Run != nil {
			run = r.Run.ID
		}
	}
	if run == "" || strings.ContainsRune(run, '/') {
		return "", false, false, fmt.Errorf("job %d has not started: %w", ref.ID, federation.ErrNotFound)
	}
	return run, done && !r.End.IsZero(), twoFiles, nil
}

// twoOutputs reports whether a job's errors go to a file of their own.
func twoOutputs(r *jobRecord) bool {
	return r.Job.Spec.Error != "" && r.Job.Spec.Error != r.Job.Spec.Output
}

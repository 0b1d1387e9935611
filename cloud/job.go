package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/demand"
	"fsub/sbatch"
)

// job is an attempt in memory.
type job struct {
	jobRecord
	payload []byte // JSON of sbatch.Payload; nil: in the store only
	table   *jobTable
	written bool // its record is in the store, and the payload with it

	subqueue *subqueue // while its claim waits
	run      *run      // that holds machines

	shown federation.SiteJob // what was written of it last: what others see
	rev   uint64             // of shown; 0: nothing yet
	newer *job               // the list of jobs by rev
	older *job
}

func (j *job) id() federation.JobID { return j.Job.ID }

func (j *job) Record() (records.PoolRecord, any) {
	r := records.PoolRecord{Kind: records.PoolJob, ID: j.Key, Job: j.id(), Closed: j.End}
	if !j.written && j.End.IsZero() {
		r.Payload = j.payload
	}
	if j.run != nil { // of a run that goes on, agents tell a new daemon once more
		open := j.jobRecord
		if open.Steps = nil; j.run.End != nil {
			open.Steps = j.run.steps
		}
		return r, &open
	}
	return r, &j.jobRecord
}

// begin is when the job may start at the earliest.
func (j *job) begin() time.Time {
	if j.NotBefore.After(j.Job.Spec.Begin) {
		return j.NotBefore
	}
	return j.Job.Spec.Begin
}

// limit is the job's time limit; sbatch.Unlimited: none.
func (j *job) limit(p *pool) time.Duration {
	for _, ng := range []time.Duration{j.Job.Spec.TimeLimit, p.DefaultTime, p.MaxTime} {
		if ng > 0 {
			return ng
		}
	}
	return sbatch.Unlimited
}

// component is the Spec of one component of a job.
func (j *job) component(i int) *sbatch.Spec {
	if i == 0 {
		return j.Job.Spec
	}
	return &j.Job.Spec.Het[i-1]
}

// needs is what one component of a job needs.
func (j *job) needs(i int) *demand.Demand {
	d := j.Job.Needs()
	if i > 0 {
		return d.Components[i-1]
	}
	return d
}

// claim takes in what placement grants a job.
func (j *job) claim(s *federation.Submission) {
	for _, c := range s.Claims {
		j.Claim, j.Expect = c.Number, c.Run
		j.Wants = append(j.Wants, want{c.Partition, c.Offering, c.Nodes, c.PerHour})
	}
	if len(j.Wants) == 0 {
		j.Wants = []want{{Partition: s.Partition}}
	}
	for len(j.Wants) < 1+len(s.Job.Spec.Het) {
		j.Wants = append(j.Wants, j.Wants[0])
	}
}

// holds reports whether the job's last run holds machines. A run of a job that waits again is only what is remembered of it.
func (j *job) holds() bool {
	return j.State != federation.Pending || j.Run.End == nil
}

// unsuspend notes that a job goes on if it was suspended. Its end is such a time too, for its agents let it go on to end it.
func (j *job) unsuspend(now time.Time) {
	if j.State == federation.Suspended {
		j.State, j.Suspension = federation.Running, j.Suspension.Resume(now)
	}
}

// elapsed is for how long a job has run, of what counts against its time limit.
func (j *job) elapsed(now time.Time) time.Duration {
	return j.Suspension.Elapsed(j.Start, now, j.State == federation.Suspended)
}

// charged is for how long a run that ends then is charged, from when all its machines were there. It is what its charge is made of, to the last part of a second.
func (j *job) charged(end time.Time) time.Duration {
	if j.Start.IsZero() || end.Before(j.Start) {
		return 0
	}
	return end.Sub(j.Start)
}

// runID names the nth run of an attempt: no other run of any attempt has the name.
func (j *job) runID(n int) string {
	sum := sha256.Sum256([]byte(j.Key))
	return fmt.Sprintf("%d-%s-%d", j.id(), hex.EncodeToString(sum[:4]), n)
}

// maxEarlier bounds the runs that are kept of a job.
const maxEarlier = 200

// keepRun notes a run that a requeue has ended, with what it has cost.
func (j *job) keepRun(r *run) {
	if j.Start.IsZero() {
		return
	}
	end := r.End.At
	if end.Before(j.Start) {
		end = j.Start
	}
	how := federation.Requeued
	if r.End.State != federation.Pending { // its machine was lost
		how = r.End.State
	}
	j.Earlier = append(slices.Clip(j.Earlier), federation.AttemptRun{State: how, Started: j.Start, Ended: end, Nodes: r.part(0).Nodes, ExitStatus: r.End.Exit,
		Suspension: j.Suspension, Cost: r.spent(j.Start, end)})
	if len(j.Earlier) > maxEarlier { // the oldest one is forgotten; its money is not
		j.Earlier[1].Cost += j.Earlier[0].Cost
		j.Earlier = j.Earlier[1:]
	}
}

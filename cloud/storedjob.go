package cloud

import (
	"encoding/json"

	"fsub/federation"
	"fsub/federation/stored"
	"fsub/sbatch"
)

// recordVersion is that of a jobRecord as it is written. Before 2 its job had the names of the domain's fields.
const recordVersion = 2

// storedJob is what is written down of a record's job: what was asked for, by whom, and who holds it. How it stands is in the record itself.
type storedJob struct {
	ID         federation.JobID `json:"job_id"`
	User       string           `json:"user"`
	UID        uint32           `json:"user_id"`
	GID        uint32           `json:"group_id"`
	Spec       sbatch.Spec      `json:"spec"`
	Held       federation.Hold  `json:"held,omitempty"`
	Part       *storedPart      `json:"array_part,omitempty"`
	SubmitHost string           `json:"submit_host,omitempty"`
}

type storedPart struct {
	Array federation.JobID `json:"array_job_id"`
	Index int              `json:"index"`
	Count int              `json:"count"`
	Min   int              `json:"min"`
	Max   int              `json:"max"`
	Step  int              `json:"step"`
	Limit int              `json:"limit,omitempty"`
	Last  bool             `json:"last,omitempty"`
}

// earlierJob has the names that were written before version 2, where they differ in more than case from those of storedJob.
type earlierJob struct {
	ID         federation.JobID
	UID, GID   uint32
	SubmitHost string
	Part       *federation.ArrayPart
}

func storedOf(j *federation.Job) storedJob {
	s := storedJob{ID: j.ID, User: j.User, UID: j.UID, GID: j.GID, Spec: *j.Spec, Held: j.Held, SubmitHost: j.SubmitHost}
	if j.Part != nil {
		s.Part = new(storedPart(*j.Part))
	}
	return s
}

func (s *storedJob) job() federation.Job {
	j := federation.Job{ID: s.ID, User: s.User, UID: s.UID, GID: s.GID, Held: s.Held, SubmitHost: s.SubmitHost}
	j.SetSpec(s.Spec)
	if s.Part != nil {
		j.Part = new(federation.ArrayPart(*s.Part))
	}
	return j
}

// plainRecord is a jobRecord without its methods.
type plainRecord jobRecord

// versionedRecord is a jobRecord as it is written: its own fields hide the record's.
type versionedRecord struct {
	Version int       `json:"version"`
	Job     storedJob `json:"job"`
	*plainRecord
	Suspension stored.Suspension `json:"suspension,omitzero"`
	Earlier    []stored.Run      `json:"earlier,omitempty"`
	Losses     []stored.NodeLoss `json:"losses,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (r jobRecord) MarshalJSON() ([]byte, error) {
	return json.Marshal(versionedRecord{recordVersion, storedOf(&r.Job), (*plainRecord)(&r), stored.Suspension(r.Suspension), stored.RunsOf(r.Earlier), stored.LossesOf(r.Losses)})
}

// UnmarshalJSON implements [json.Unmarshaler], of records of all versions.
func (r *jobRecord) UnmarshalJSON(text []byte) error {
	v := versionedRecord{plainRecord: (*plainRecord)(r)}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	r.Job, r.Suspension, r.Earlier, r.Losses = v.Job.job(), federation.Suspension(v.Suspension), stored.Runs(v.Earlier), stored.Losses(v.Losses)
	if v.Version >= recordVersion {
		return nil
	}
	var old struct{ Job earlierJob }
	if err := json.Unmarshal(text, &old); err != nil {
		return err
	}
	j, e := &r.Job, &old.Job
	j.ID, j.UID, j.GID, j.SubmitHost, j.Part = e.ID, e.UID, e.GID, e.SubmitHost, e.Part
	return nil
}

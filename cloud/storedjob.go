package cloud

import (
	"encoding/json"
	"time"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// recordVersion is that of a jobRecord as it is written. Before 2 its job had the names of the domain's fields.
const recordVersion = 2

// storedJob is what is written down of a record's job: what was asked for and how often it has run. How it stands is in the record itself.
type storedJob struct {
	ID         federation.JobID      `json:"job_id"`
	User       string                `json:"user"`
	UID        uint32                `json:"user_id"`
	GID        uint32                `json:"group_id"`
	Spec       sbatch.Spec           `json:"spec"`
	State      federation.State      `json:"state,omitempty"`
	Reason     reasons.Reason        `json:"reason,omitempty"`
	Priority   int64                 `json:"priority,omitempty"`
	Top        uint32                `json:"top,omitempty"`
	Held       federation.Hold       `json:"held,omitempty"`
	Cancel     bool                  `json:"cancel,omitempty"`
	CancelBy   uint32                `json:"cancel_user_id,omitempty"`
	Submit     time.Time             `json:"submit,omitzero"`
	Start      time.Time             `json:"start,omitzero"`
	End        time.Time             `json:"end,omitzero"`
	Suspension federation.Suspension `json:"suspension,omitzero"`
	Attempt    int                   `json:"attempt,omitempty"`
	Site       federation.SiteName   `json:"site,omitempty"`
	Partition  string                `json:"partition,omitempty"`
	Nodes      string                `json:"nodes,omitempty"`
	Account    string                `json:"account,omitempty"`
	ExitStatus int32                 `json:"exit_status,omitempty"`
	Restarts   int                   `json:"restarts,omitempty"`
	Cost       federation.Money      `json:"cost,omitempty"`
	Part       *storedPart           `json:"array_part,omitempty"`
	Component  *storedComponent      `json:"component,omitempty"`
	Whole      *storedWhole          `json:"array,omitempty"`
	SubmitHost string                `json:"submit_host,omitempty"`
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

type storedWhole struct {
	Count  int  `json:"count"`
	Min    int  `json:"min"`
	Max    int  `json:"max"`
	Step   int  `json:"step"`
	Limit  int  `json:"limit,omitempty"`
	Spread bool `json:"spread,omitempty"`
}

type storedComponent struct {
	Leader federation.JobID `json:"leader_job_id"`
	Offset int              `json:"offset"`
}

// earlierJob has the names that were written before version 2, where they differ in more than case from those of storedJob.
type earlierJob struct {
	ID         federation.JobID
	UID, GID   uint32
	CancelBy   uint32
	ExitStatus int32
	SubmitHost string
	Part       *federation.ArrayPart
	Whole      *federation.ArrayWhole
	Component  *federation.HetComponent
}

func storedOf(j *federation.Job) storedJob {
	s := storedJob{
		ID: j.ID, User: j.User, UID: j.UID, GID: j.GID, Spec: *j.Spec, State: j.State, Reason: j.Reason, Priority: int64(j.Priority), Top: j.Top, Held: j.Held,
		Cancel: j.Cancel, CancelBy: j.CancelBy, Submit: j.Submit, Start: j.Start, End: j.End, Suspension: j.Suspension(),
		Attempt: j.Attempt, Site: j.Site, Partition: j.Partition, Nodes: j.Nodes, Account: j.Account,
		ExitStatus: j.ExitStatus, Restarts: j.Restarts, Cost: j.Cost, SubmitHost: j.SubmitHost,
	}
	if j.Part != nil {
		s.Part = new(storedPart(*j.Part))
	}
	if j.Whole != nil {
		w := j.Whole
		s.Whole = &storedWhole{Count: w.Count, Min: w.Min, Max: w.Max, Step: w.Step, Limit: w.Limit, Spread: w.Spread}
	}
	if j.Component != nil {
		s.Component = new(storedComponent(*j.Component))
	}
	return s
}

func (s *storedJob) job() federation.Job {
	j := federation.Job{
		ID: s.ID, User: s.User, UID: s.UID, GID: s.GID, Spec: &s.Spec, State: s.State, Reason: s.Reason, Priority: uint32(max(s.Priority, 0)), Top: s.Top, Held: s.Held,
		Cancel: s.Cancel, CancelBy: s.CancelBy, Submit: s.Submit, Start: s.Start, End: s.End,
		Attempt: s.Attempt, Site: s.Site, Partition: s.Partition, Nodes: s.Nodes, Account: s.Account,
		ExitStatus: s.ExitStatus, Restarts: s.Restarts, Cost: s.Cost, SubmitHost: s.SubmitHost,
	}
	j.SetSuspension(s.Suspension)
	j.Demand = demand.Of(j.Spec)
	if s.Part != nil {
		j.Part = new(federation.ArrayPart(*s.Part))
	}
	if s.Whole != nil {
		w := s.Whole
		j.Whole = &federation.ArrayWhole{Count: w.Count, Min: w.Min, Max: w.Max, Step: w.Step, Limit: w.Limit, Spread: w.Spread}
	}
	if s.Component != nil {
		j.Component = new(federation.HetComponent(*s.Component))
	}
	return j
}

// plainRecord is a jobRecord without its methods.
type plainRecord jobRecord

// versionedRecord is a jobRecord as it is written: its Job hides the record's.
type versionedRecord struct {
	Version int       `json:"version"`
	Job     storedJob `json:"job"`
	*plainRecord
}

// MarshalJSON implements [json.Marshaler].
func (r jobRecord) MarshalJSON() ([]byte, error) {
	return json.Marshal(versionedRecord{recordVersion, storedOf(&r.Job), (*plainRecord)(&r)})
}

// UnmarshalJSON implements [json.Unmarshaler], of records of all versions.
func (r *jobRecord) UnmarshalJSON(text []byte) error {
	v := versionedRecord{plainRecord: (*plainRecord)(r)}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	r.Job = v.Job.job()
	if v.Version >= recordVersion {
		return nil
	}
	var old struct{ Job earlierJob }
	if err := json.Unmarshal(text, &old); err != nil {
		return err
	}
	j, e := &r.Job, &old.Job
	j.ID, j.UID, j.GID, j.CancelBy, j.ExitStatus, j.SubmitHost = e.ID, e.UID, e.GID, e.CancelBy, e.ExitStatus, e.SubmitHost
	j.Part, j.Whole, j.Component = e.Part, e.Whole, e.Component
	return nil
}

package restd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// updateJob is POST /job/{id}. Fields that it cannot change are refused by name.
func (s *Server) updateJob(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	body, err := answer.ReadBody(r)
	if err != nil {
		return err
	}
	defer answer.PutBody(body)
	var fields map[string]json.RawMessage
	var desc wire.JobDesc
	if err := errors.Join(json.Unmarshal(body.Bytes(), &fields), json.Unmarshal(body.Bytes(), &desc)); err != nil {
		return answer.BadBody(err.Error())
	}
	if err := checkTimes(&desc); err != nil {
		return err
	}
	kind, changes, err := restUpdate(fields, &desc)
	if err != nil {
		return err
	}
	id, tasks, err := ParseRef(r.PathValue("id"))
	if err != nil {
		return err
	}
	errs, err := s.Actions.Do(r.Context(), c, kind, v1.ActRequest{Jobs: []v1.JobRef{{ID: id, Tasks: tasks.Set()}}, Change: changes})
	if err != nil {
		return err
	}
	results, some := updateResults(id, errs[0])
	if errs[0] != nil && !some {
		return errs[0]
	}
	return write(w, r, wire.JobUpdateResponse{Results: results, Reply: s.Reply(r, c)})
}

// updateResults are what became of the tasks of an array where it was not the same for all. some: not all were refused, which slurmrestd does not call an error.
func updateResults(id federation.JobID, err error) (list []wire.JobUpdateResult, some bool) {
	for _, t := range submission.ResultsOf(err) {
		r := wire.JobUpdateResult{JobID: int64(id), StepID: fmt.Sprintf("%d_%s", id, t.Tasks)}
		if some = some || t.Error == nil; t.Error != nil {
			r.Error, r.Code = t.Error.Text, t.Error.Number
		}
		list = append(list, r)
	}
	return list, some
}

// updateKind reads what an update asks for: hold true or false, or priority 0 and INFINITE, which mean the same.
func updateKind(fields map[string]json.RawMessage, desc *wire.JobDesc) (action.Kind, error) {
	for name := range fields {
		if name != "hold" && name != "priority" && name != "job_id" {
			return "", notSupported(fmt.Sprintf("field %q of a job cannot be changed yet; only hold can", name))
		}
	}
	hold := desc.Hold != nil && *desc.Hold
	if desc.Hold == nil {
		switch {
		case desc.Priority.Infinite:
		case desc.Priority.Set && desc.Priority.Number == 0:
			hold = true
		default:
			return "", notSupported("a job's priority cannot be changed yet; 0 and INFINITE hold and release")
		}
	}
	if hold {
		return action.Hold, nil
	}
	return action.Release, nil
}

// notSupported is Slurm's refusal of what it was not built for, with the reason. The number is SLURM_ERROR.
func notSupported(detail string) error {
	return &federation.SlurmError{Kind: federation.ErrInvalid, Number: -1, Text: "Requested operation not supported on this system", Detail: detail}
}

// restChange is a field of POST /job/{id} that changes a job: scontrol's word for it, sbatch's option, and the value as that takes it.
type restChange struct {
	key, option string
	value       func(*wire.JobDesc) string
}

var restChanges = map[string]restChange{
	"account":     {"Account", "account", func(d *wire.JobDesc) string { return d.Account }},
	"begin_time":  {"StartTime", "begin", func(d *wire.JobDesc) string { return inUTC(d.BeginTime.Value()) }},
	"comment":     {"Comment", "comment", func(d *wire.JobDesc) string { return d.Comment }},
	"constraints": {"Features", "constraint", func(d *wire.JobDesc) string { return d.Constraints }},
	"deadline":    {"Deadline", "deadline", func(d *wire.JobDesc) string { return inUTC(d.Deadline) }},
	"dependency":  {"Dependency", "dependency", func(d *wire.JobDesc) string { return d.Dependency }},
	"licenses":    {"Licenses", "licenses", func(d *wire.JobDesc) string { return d.Licenses }},
	"name":        {"JobName", "job-name", func(d *wire.JobDesc) string { return d.Name }},
	"nodes":       {"NumNodes", "nodes", func(d *wire.JobDesc) string { return d.Nodes }},
	"partition":   {"Partition", "partition", func(d *wire.JobDesc) string { return d.Partition }},
	"qos":         {"QOS", "qos", func(d *wire.JobDesc) string { return d.QOS }},
	"reservation": {"ReservationName", "reservation", func(d *wire.JobDesc) string { return d.Reservation }},
	"tasks":       {"NumTasks", "ntasks", func(d *wire.JobDesc) string { return strconv.Itoa(d.Tasks) }},
	"time_limit": {"TimeLimit", "time", func(d *wire.JobDesc) string {
		if d.TimeLimit.Infinite {
			return "UNLIMITED"
		}
		return strconv.FormatInt(d.TimeLimit.Value(), 10)
	}},
	"nice": {"Nice", "nice", func(d *wire.JobDesc) string {
		if d.Nice == nil {
			return ""
		}
		return strconv.Itoa(*d.Nice)
	}},
}

func inUTC(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02T15:04:05") }

// restUpdate reads what an update asks for: to hold or release, or to change fields. What cannot be carried is refused by name.
func restUpdate(fields map[string]json.RawMessage, desc *wire.JobDesc) (action.Kind, []sbatch.Change, error) {
	var changes []sbatch.Change
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if c, ok := restChanges[name]; ok {
			changes = append(changes, sbatch.Change{Key: c.key, Option: c.option, Value: c.value(desc)})
		}
	}
	if len(changes) == 0 {
		kind, err := updateKind(fields, desc)
		return kind, nil, err
	}
	for name := range fields {
		if _, ok := restChanges[name]; !ok && name != "job_id" {
			return "", nil, notSupported(fmt.Sprintf("field %q of a job cannot be changed, or not together with others", name))
		}
	}
	return action.Update, changes, nil
}

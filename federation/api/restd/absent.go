package restd

import (
	"fmt"
	"net/http"

	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/slurm/wire"
)

// absentError is slurmrestd's answer for something that is not there, which differs from path to path: clients tell "not found" from a fault by it.
type absentError struct {
	status int
	said   wire.Error
}

func (e *absentError) Error() string { return e.said.Description }

// Nodes and reservations that are not there are "No error" under 200, and partitions 422 (24.11).
func absentNode(name string) error {
	return &absentError{http.StatusOK, wire.Error{Description: "Failure to query node " + name, Text: "No error", Source: "_dump_nodes"}}
}

func absentReservation() error {
	return &absentError{http.StatusOK, wire.Error{Description: "Unable to query reservations", Text: "No error", Source: "slurm_load_reservations()"}}
}

func absentPartition(name string) error {
	return &absentError{http.StatusUnprocessableEntity, wire.Error{Description: "Unable to find partition " + name, Number: 9000,
		Text: "Query empty or not RFC7320 compliant", Source: "op_handler_partition"}}
}

// absentJob is that of DELETE of a job that is not there.
func absentJob(name string) error {
	return &absentError{http.StatusNotFound, wire.Error{Description: fmt.Sprintf("Invalid JobID=%s rejected", name), Number: wire.ErrJobID,
		Text: wire.Strerror(wire.ErrJobID), Source: "op_handler_job"}}
}

// dbAbsent are paths of slurmdbd for which the federation has nothing: what slurmrestd answers an ordinary user of a cluster that has nothing either.
func (s *Server) dbAbsent() {
	nothing := func(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
		reply := s.Reply(r, c)
		reply.Warnings = append(reply.Warnings, wire.Warning{Description: "slurmdb_instances_get() found nothing", Source: "_dump_instance_cond"})
		return write(w, r, reply)
	}
	denied := func(http.ResponseWriter, *http.Request, identity.Caller) error { return answer.Denied }
	for _, path := range []string{"instances", "instance"} {
		s.Router.HandleAs("GET /slurmdb/{version}/"+path, s.spoken(nothing), s.failSlurm)
		s.Router.HandleAs("GET /slurmdb/{version}/"+path+"/{$}", s.spoken(nothing), s.failSlurm)
	}
	for _, path := range []string{"config", "config/{$}", "diag", "diag/{$}", "wckeys", "wckeys/{$}", "wckey/{name}"} {
		s.Router.HandleAs("GET /slurmdb/{version}/"+path, s.spoken(denied), s.failSlurm)
	}
}

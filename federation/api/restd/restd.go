// Package restd answers as slurmrestd does, under /slurm and /slurmdb, so that clients of slurmrestd see the federation as one cluster.
// Start with [Server.Routes].
//
// It also makes the records of package wire that slurmctld and slurmdbd would list of the jobs in the federation's store: a [Filter] selects
// jobs, [Parts] splits an array into its started tasks and the rest, and a [View], which is the federation as one cluster at one moment,
// writes one record of each. A [Lister] reads what they need. Listings take more filters than slurmrestd's, so that a command that asks for
// one job does not cost a listing of all.
package restd

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/slurm/wire"
)

// newer reports whether the request is for version v or a later one.
func newer(r *http.Request, v string) bool { return r.PathValue("version") >= v }

// Store is what a Server and a Lister need of a store.
type Store interface {
	federation.JobStore
	journal.Follower
}

// Server answers as slurmrestd does.
type Server struct {
	Store   Store
	Lister  *Lister
	Gate    *submission.Gate
	Actions *submission.Actions
	Router  *answer.Router
	Users   *identity.Names
	Now     func() time.Time
	Keep    time.Duration // how long an ended job is listed
	Version string        // of Slurm
	Cluster string        // the federation's name
	Host    string        // this machine's name
	// Tree are the associations of the account tree that a caller may see, as one cluster; nil: there is no tree.
	Tree func(identity.Caller) []v1.Association
	// QOS are those of the account tree. It is called only where Tree has answered.
	QOS func() []*accounts.Record
	// Sees reports whether a caller may see a user's association with an account.
	Sees func(c identity.Caller, account, user string) bool
	// OrderNodes writes down what a caller, whose rights were checked, wants of nodes.
	OrderNodes func(ctx context.Context, c identity.Caller, q *v1.SetNodes) ([]v1.NodeSet, error)

	marks    marks
	openapi  func() []byte // the document, made when it is first asked for
	counters counters
	census   census
}

// handlers are slurmrestd's own paths.
func (s *Server) handlers() map[string]answer.Handler {
	return map[string]answer.Handler{
		"GET /slurm/{version}/ping":               s.ping,
		"GET /slurm/{version}/diag":               s.diag,
		"GET /slurm/{version}/jobs":               s.jobs,
		"GET /slurm/{version}/jobs/state":         s.jobsState,
		"GET /slurm/{version}/job/{id}":           s.job,
		"GET /slurm/{version}/nodes":              s.nodes,
		"GET /slurm/{version}/node/{name}":        s.nodes,
		"GET /slurm/{version}/partitions":         s.partitions,
		"GET /slurm/{version}/partition/{name}":   s.partitions,
		"GET /slurm/{version}/licenses":           s.licenses,
		"GET /slurm/{version}/reservations":       s.reservations,
		"GET /slurm/{version}/reservation/{name}": s.reservations,
		"POST /slurm/{version}/job/submit":        s.slurmSubmit,
		"POST /slurm/{version}/job/{id}":          s.updateJob,
		"POST /slurm/{version}/node/{name}":       s.updateNodes,
		"POST /slurm/{version}/nodes":             s.updateNodes,
		"DELETE /slurm/{version}/job/{id}":        s.killJob,
		"DELETE /slurm/{version}/jobs":            s.killJobs,
		"GET /slurmdb/{version}/ping":             s.ping,
		"GET /slurmdb/{version}/jobs":             s.dbJobs,
		"GET /slurmdb/{version}/job/{id}":         s.dbJobs,
		"GET /slurm/{version}/shares":             s.shares,
		"GET /slurmdb/{version}/clusters":         s.clusters,
		"GET /slurmdb/{version}/cluster/{name}":   s.clusters,
		"GET /slurmdb/{version}/accounts":         s.accounts,
		"GET /slurmdb/{version}/account/{name}":   s.accounts,
		"GET /slurmdb/{version}/users":            s.users,
		"GET /slurmdb/{version}/user/{name}":      s.users,
		"GET /slurmdb/{version}/associations":     s.associations,
		"GET /slurmdb/{version}/association":      s.associations,
		"GET /slurmdb/{version}/qos":              s.qos,
		"GET /slurmdb/{version}/qos/{name}":       s.qos,
		"GET /slurmdb/{version}/tres":             s.tres,
	}
}

// Routes adds the handlers, and the document that describes them.
func (s *Server) Routes() {
	s.openapi = sync.OnceValue(func() []byte { return Document(s.Version) })
	for _, path := range []string{"/openapi", "/openapi/v3", "/openapi.json"} {
		s.Router.HandleAs("GET "+path, s.document, s.failSlurm)
	}
	for pattern, h := range s.handlers() {
		// slurmrestd takes a path with or without its last slash.
		s.Router.HandleAs(pattern, s.versioned(pattern, h), s.failSlurm)
		s.Router.HandleAs(pattern+"/{$}", s.versioned(pattern, h), s.failSlurm)
	}
	s.dbAbsent()
}

// keyOf is the name of a route's answer among the shapes.
func keyOf(pattern string) string {
	return strings.NewReplacer(" /", " ", "/{version}", "", "/{$}", "", "{id}", "{}", "{name}", "{}").Replace(pattern)
}

// spoken refuses API versions that we do not speak.
func (s *Server) spoken(h answer.Handler) answer.Handler {
	return func(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
		if versionShapes()[r.PathValue("version")] == nil {
			return answer.NoRoute(r)
		}
		return h(w, r, c)
	}
}

// versioned refuses API versions that we do not speak, and those that do not have the path.
func (s *Server) versioned(pattern string, h answer.Handler) answer.Handler {
	key := keyOf(pattern)
	return func(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
		if versionShapes()[r.PathValue("version")][key] == nil {
			return answer.NoRoute(r)
		}
		return h(w, r, c)
	}
}

// Reply is the part that every answer has.
func (s *Server) Reply(r *http.Request, c identity.Caller) wire.Reply {
	rep := wire.Reply{Meta: wire.NewMeta(s.Version, s.Cluster, c.Name)}
	if v := r.PathValue("version"); v != "" {
		rep.Meta.Plugin.DataParser = "data_parser/" + v
	}
	if strings.HasPrefix(r.URL.Path, "/slurmdb/") {
		rep.Meta.Plugin.Type, rep.Meta.Plugin.Name = "openapi/slurmdbd", "Slurm OpenAPI slurmdbd"
	}
	if c.Name != "" {
		rep.Meta.Client.Group, _ = s.Users.GroupName(c.GID)
	}
	return rep
}

// failSlurm answers with err as slurmrestd 24.11 does: 500 for all that slurmctld refuses, 404 for an unknown job. 503 is our own: too much is asked at once.
func (s *Server) failSlurm(w http.ResponseWriter, r *http.Request, c identity.Caller, err error) int {
	code := http.StatusInternalServerError
	var absent *absentError
	switch {
	case errors.As(err, &absent):
		code = absent.status
	case errors.Is(err, federation.ErrThrottled):
		code = http.StatusServiceUnavailable
		answer.TryAgain(w, code, err)
	case errors.As(err, new(identity.NoCallerError)):
		http.Error(w, "Authentication failure", http.StatusUnauthorized)
		return http.StatusUnauthorized
	case errors.As(err, new(identity.EarlyError)):
		http.Error(w, err.Error(), http.StatusTooEarly)
		return http.StatusTooEarly
	case errors.As(err, new(answer.NoRouteError)):
		http.Error(w, "Unable find requested URL. Please view /openapi/v3 for API reference.", http.StatusNotFound)
		return http.StatusNotFound
	case isNumber(err, wire.ErrJobID):
		code = http.StatusNotFound
	case isNumber(err, wire.ErrConvert):
		code = http.StatusBadRequest
	}
	s.Router.LogFailure(r, answer.Status(err), err)
	rep := s.Reply(r, c)
	if absent != nil {
		rep.Errors = append(rep.Errors, absent.said)
	} else {
		rep.Errors = append(rep.Errors, slurmrestdError(r, err))
	}
	var out any = rep
	if reply := versionShapes()[r.PathValue("version")]["reply"]; reply != nil {
		out, _ = reply.json(rep)
	}
	answer.JSONStatus(w, code, out)
	return code
}

func isNumber(err error, n int) bool {
	var e *federation.SlurmError
	return errors.As(err, &e) && e.Number == n
}

// slurmrestdError is err as an entry of errors[].
func slurmrestdError(r *http.Request, err error) wire.Error {
	e := answer.OnWire(err)
	description := e.Text
	if e.Detail != "" {
		description = strings.ReplaceAll(e.Detail, "\n", "; ")
	}
	return wire.Error{Description: description, Number: e.Number, Text: e.Text, Source: r.Method + " " + r.URL.Path}
}

// ping is GET /ping: whoever reads the answer has reached the controller.
func (s *Server) ping(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	p := wire.Ping{Hostname: s.Host, Responding: true, Primary: true, Status: "UP", Pinged: "UP", Mode: "primary"}
	return write(w, r, wire.PingResponse{Pings: wire.List[wire.Ping]{p}, Reply: s.Reply(r, c)})
}

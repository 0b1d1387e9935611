package api

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/slurm/wire"
)

// versions are the API versions that the slurmrestd-shaped part answers. All have the shapes of package wire; where one
// of them says a thing differently the code asks [newer].
var versions = []string{"v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"}

// newer reports whether the request is for version v or a later one.
func newer(r *http.Request, v string) bool { return r.PathValue("version") >= v }

// restd answers as slurmrestd does.
type restd struct {
	store   federation.Store
	lister  *lister
	gate    *gate
	actions *actions
	bodies  *bodies
	router  *router
	users   *identity.Names
	now     func() time.Time
	keep    time.Duration // how long an ended job is listed
	version string        // of Slurm
	cluster string        // the federation's name
	started time.Time
	host    string // this machine's name
	marks   marks
}

// routes adds slurmrestd's own paths.
func (s *restd) routes() {
	for pattern, h := range map[string]handler{
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
		"DELETE /slurm/{version}/job/{id}":        s.killJob,
		"DELETE /slurm/{version}/jobs":            s.killJobs,
		"GET /slurmdb/{version}/ping":             s.ping,
		"GET /slurmdb/{version}/jobs":             s.dbJobs,
		"GET /slurmdb/{version}/job/{id}":         s.dbJobs,
	} {
		// slurmrestd takes a path with or without its last slash.
		s.router.handleAs(pattern, s.versioned(h), s.failSlurm)
		s.router.handleAs(pattern+"/{$}", s.versioned(h), s.failSlurm)
	}
}

// versioned refuses API versions that we do not speak.
func (s *restd) versioned(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
		if !slices.Contains(versions, r.PathValue("version")) {
			return errNoRoute(r)
		}
		return h(w, r, c)
	}
}

// reply is the part that every answer has.
func (s *restd) reply(r *http.Request, c identity.Caller) wire.Reply {
	rep := wire.Reply{Meta: wire.NewMeta(s.version, s.cluster, c.Name)}
	if v := r.PathValue("version"); v != "" {
		rep.Meta.Plugin.DataParser = "data_parser/" + v
	}
	rep.Meta.Client.Group, _ = s.users.GroupName(c.GID)
	return rep
}

// failSlurm answers with err as slurmrestd 24.11 does: 500 for all that slurmctld refuses, 404 for an unknown job.
func (s *restd) failSlurm(w http.ResponseWriter, r *http.Request, err error) int {
	code := http.StatusInternalServerError
	switch {
	case errors.As(err, new(identity.NoCallerError)):
		http.Error(w, "Authentication failure", http.StatusUnauthorized)
		return http.StatusUnauthorized
	case errors.As(err, new(noRouteError)):
		http.Error(w, "Not Found", http.StatusNotFound)
		return http.StatusNotFound
	case isNumber(err, wire.ErrJobID):
		code = http.StatusNotFound
	case isNumber(err, wire.ErrConvert):
		code = http.StatusBadRequest
	}
	if !errors.As(err, new(*federation.SlurmError)) || errors.Is(err, federation.ErrUnavailable) {
		s.router.logFailure(r, code, err)
	}
	rep := s.reply(r, identity.Caller{})
	rep.Errors = append(rep.Errors, slurmrestdError(r, err))
	writeJSONStatus(w, code, rep)
	return code
}

func isNumber(err error, n int) bool {
	var e *federation.SlurmError
	return errors.As(err, &e) && e.Number == n
}

// slurmrestdError is err as an entry of errors[].
func slurmrestdError(r *http.Request, err error) wire.Error {
	e := wireError(err)
	description := e.Text
	if e.Detail != "" {
		description = e.Detail
	}
	return wire.Error{Description: description, Number: e.Number, Text: e.Text, Source: r.Method + " " + r.URL.Path}
}

// ping is GET /ping: whoever reads the answer has reached the controller.
func (s *restd) ping(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	p := wire.Ping{Hostname: s.host, Responding: true, Primary: true}
	if newer(r, "v0.0.45") {
		p.Status = "UP"
	} else {
		p.Pinged, p.Mode = "UP", "primary"
	}
	return writeJSON(w, wire.PingResponse{Pings: wire.List[wire.Ping]{p}, Reply: s.reply(r, c)})
}

// diag is GET /diag: the counters that the store can tell.
func (s *restd) diag(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	live, err := s.store.Jobs(r.Context(), federation.JobQuery{Live: true})
	if err != nil {
		return ofStore(err, errNoContact)
	}
	now := s.now()
	d := wire.Diag{ReqTime: wire.Time(now), ReqTimeStart: wire.Time(s.started), JobStatesTS: wire.Time(now)}
	for _, j := range live {
		if j.State == federation.Pending {
			d.JobsPending++
		} else {
			d.JobsRunning++
		}
	}
	d.ScheduleQueueLen = d.JobsPending
	return writeJSON(w, wire.DiagResponse{Statistics: d, Reply: s.reply(r, c)})
}

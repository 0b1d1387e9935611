package simsite

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"fsub/slurm/wire"
)

// request is one call of the API, without its connection.
type request struct {
	method string
	path   string
	query  url.Values
	header http.Header
	body   []byte
}

// response is its answer. Text answers are those that slurmrestd gives before it has understood a request.
type response struct {
	status int
	text   bool
	body   []byte
}

func textResponse(status int, text string) response {
	return response{status: status, text: true, body: []byte(text)}
}

// route is one operation of the API.
type route struct {
	op      Op
	db      bool
	handler func(*Site, *call)
}

// call is one authenticated request on its way through a handler.
type call struct {
	*request
	caller Caller
	arg    string // what follows the route's path: an ID or a name
	reply  response
}

var routes = map[string]route{
	"GET ping":             {OpPing, false, (*Site).getPing},
	"GET diag":             {OpDiag, false, (*Site).getDiag},
	"POST job/submit":      {OpSubmit, false, (*Site).postSubmit},
	"GET jobs/state":       {OpState, false, (*Site).getState},
	"GET jobs":             {OpJobs, false, (*Site).getJobs},
	"DELETE jobs":          {OpKill, false, (*Site).deleteJobs},
	"POST jobs/requeue":    {OpUpdate, false, (*Site).postRequeue},
	"GET job/*":            {OpJob, false, (*Site).getJob},
	"POST job/*":           {OpUpdate, false, (*Site).postJob},
	"DELETE job/*":         {OpKill, false, (*Site).deleteJob},
	"GET nodes":            {OpNodes, false, (*Site).getNodes},
	"GET node/*":           {OpNodes, false, (*Site).getNodes},
	"POST node/*":          {OpNodeUpdate, false, (*Site).postNode},
	"POST nodes":           {OpNodeUpdate, false, (*Site).postNode},
	"GET partitions":       {OpPartitions, false, (*Site).getPartitions},
	"GET partition/*":      {OpPartitions, false, (*Site).getPartitions},
	"GET reservations":     {OpReservations, false, (*Site).getReservations},
	"POST reservation":     {OpReserve, false, (*Site).postReservation},
	"DELETE reservation/*": {OpReserve, false, (*Site).deleteReservation},
	"GET licenses":         {OpLicenses, false, (*Site).getLicenses},

	"GET db job/*":        {OpDBJobs, true, (*Site).getDBJobs},
	"GET db jobs":         {OpDBJobs, true, (*Site).getDBJobs},
	"GET db associations": {OpDBOther, true, (*Site).getDBAssociations},
	"GET db wckeys":       {OpDBOther, true, (*Site).getDBWCKeys},
}

// newest is the API version of 26.05. Its shapes are those of v0.0.42 where this site has anything to tell; it can requeue.
const newest = "v0.0.45"

// find splits a path into the route and its argument.
func (s *Site) find(method, path string) (r route, arg string, ok bool) {
	service, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	version, rest, ok := strings.Cut(rest, "/")
	since43 := strings.HasPrefix(rest, "reservation") && method != http.MethodGet
	if !ok || (version != wire.Base || since43) && (version != newest || !s.modern()) {
		return route{}, "", false
	}
	prefix := ""
	switch service {
	case "slurm":
	case "slurmdb":
		prefix = "db "
	default:
		return route{}, "", false
	}
	rest = strings.TrimSuffix(rest, "/")
	if r, ok = routes[method+" "+prefix+rest]; ok {
		return r, "", true
	}
	name, arg, hasArg := strings.Cut(rest, "/")
	if !hasArg {
		return route{}, "", false
	}
	r, ok = routes[method+" "+prefix+name+"/*"]
	return r, arg, ok
}

// respond answers a request, faults aside.
func (s *Site) respond(q *request) response {
	r, arg, ok := s.find(q.method, q.path)
	if !ok || r.db && s.cfg.NoDBD {
		return textResponse(http.StatusNotFound, "Unable find requested URL. Please view /openapi/v3 for API reference.")
	}
	caller, auth := s.authenticate(q.header)
	c := &call{request: q, caller: caller, arg: arg}
	if auth == authBad {
		s.mu.Lock()
		s.stats.Denied++
		s.mu.Unlock()
	}
	switch {
	case auth == authMissing:
		return textResponse(http.StatusUnauthorized, "Authentication failure")
	case auth == authBad && r.op == OpPing:
		return s.pingReply(c, false)
	case auth == authBad && r.db:
		s.refuse(c, errDBConnection, "slurmdb")
		return c.reply
	case auth == authBad && r.op == OpPartitions:
		c.reply = s.encode(http.StatusNetworkAuthenticationRequired, &wire.PartitionsResponse{Reply: s.meta(c)})
		return c.reply
	case auth == authBad:
		s.refuse(c, errAuth, "slurmctld")
		return c.reply
	}
	s.lock()
	defer s.mu.Unlock()
	switch {
	case r.db && !s.dbd.up:
		s.refuse(c, errDBConnection, "slurmdb")
	case !r.db && s.down && r.op == OpPing:
		c.reply = s.pingReply(c, false)
	case !r.db && s.down:
		s.refuse(c, errController, "slurmctld")
	default:
		r.handler(s, c)
	}
	return c.reply
}

// meta is the part that every answer has.
func (s *Site) meta(c *call) wire.Reply {
	return wire.Reply{Meta: wire.NewMeta(s.cfg.Version, s.cfg.Name, c.caller.Name)}
}

func (s *Site) encode(status int, v any) response {
	b, err := json.Marshal(v)
	if err != nil {
		return textResponse(http.StatusInternalServerError, err.Error())
	}
	return response{status: status, body: b}
}

func (s *Site) ok(c *call, v any) { c.reply = s.encode(http.StatusOK, v) }

// refuse answers with one of Slurm's errors and the HTTP status that goes with it.
func (s *Site) refuse(c *call, err error, source string) {
	r := new(Refusal)
	if !errors.As(err, &r) {
		r = &Refusal{Number: -1, Text: "Unspecified error"}
	}
	m := s.meta(c)
	m.Errors = wire.List[wire.Error]{{Description: err.Error(), Number: r.Number, Text: r.Text, Source: source}}
	c.reply = s.encode(s.statusOf(r), m)
}

func (s *Site) statusOf(r *Refusal) int {
	switch r {
	case errAuth:
		return http.StatusNetworkAuthenticationRequired
	case errController, errDBConnection:
		return http.StatusBadGateway
	case errJobID:
		return http.StatusNotFound
	}
	if s.modern() {
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}

// spoil turns a good answer into what a fault makes of it.
func (s *Site) spoil(f FaultKind, q *request, r response) response {
	switch f {
	case Fail500:
		return textResponse(http.StatusInternalServerError, "Internal Server Error")
	case Gateway504:
		return textResponse(http.StatusGatewayTimeout, "Gateway Timeout")
	case NoReach:
		c := &call{request: q}
		s.refuse(c, errController, "slurmctld")
		return c.reply
	case Empty:
		meta, _ := json.Marshal(s.meta(&call{request: q}))
		return response{status: http.StatusOK, body: append([]byte(`{"jobs":[],"nodes":[],"partitions":[],"reservations":[],"associations":[],`+
			`"users":[],"licenses":[],"status":[],"pings":[],`), meta[1:]...)}
	case Truncate:
		r.body = r.body[:len(r.body)/2]
	case Garbage:
		return response{status: http.StatusOK, body: []byte("<html><body>It works!</body></html>")}
	}
	return r
}

// maxBody is slurmrestd's limit on a request.
const maxBody = 50 << 20

func readRequest(r *http.Request) (*request, error) {
	q := &request{method: r.Method, path: r.URL.Path, header: r.Header}
	if r.URL.RawQuery != "" {
		q.query = r.URL.Query()
	}
	if r.Body == nil {
		return q, nil
	}
	var err error
	q.body, err = io.ReadAll(io.LimitReader(r.Body, maxBody))
	return q, err
}

package api

import (
	"net/http"

	"fsub/federation/api/answer"
	"fsub/federation/api/queue"
)

// answerer says which of several daemons that share the store answers a route.
type answerer bool

const (
	each   answerer = true  // each: the store and its copy of the queue are all that it takes, and what the leader has told of the sites
	leader answerer = false // the one that leads: it takes placement, how sites are now, or what the quota remembers
)

// answeredBy has each route that only tells something. What changes something is the leader's.
var answeredBy = map[string]answerer{
	"GET /fed/v1/job/{id}":           each,
	"GET /fed/v1/job/{id}/wait":      each,
	"GET /fed/v1/job/{id}/payload":   each,
	"GET /fed/v1/jobs":               each,
	"POST /fed/v1/jobs/states":       each,
	"GET /fed/v1/summary":            each,
	ofQueue:                          each,
	"GET /fed/v1/accounting":         each,
	"GET /fed/v1/events":             each,
	"GET /fed/v1/audit":              each,
	"GET /fed/v1/accounts":           each,
	ofSums:                           each,
	"GET /fed/v1/daemons":            each,
	"GET /fed/v1/openapi.json":       each,
	"GET /fed/v1/tokens":             each,
	"GET /fed/v1/caller":             each,
	"GET /fed/v1/web/sessions":       each,
	"GET /fed/v1/web/session/{hash}": each,

	"GET /fed/v1/job/{id}/explain":          leader,
	"GET /fed/v1/job/{id}/log":              leader,
	"GET /fed/v1/job/{id}/log/text":         leader,
	"GET /fed/v1/config":                    leader,
	"GET /fed/v1/topology":                  leader,
	"GET /fed/v1/associations":              leader,
	"GET /fed/v1/priorities":                leader,
	"GET /fed/v1/sites":                     leader,
	"GET /fed/v1/site/{name}":               leader,
	"GET /fed/v1/maintenance":               leader,
	"GET /fed/v1/nodes":                     leader,
	"GET /fed/v1/node/{site}/{name}":        leader,
	"GET /fed/v1/operations":                leader,
	"GET /fed/v1/operation/{id}":            leader,
	"GET /fed/v1/accounts/drift":            leader,
	"GET /fed/v1/health":                    leader,
	"GET /fed/v1/health/history":            leader,
	"GET /fed/v1/books/budgets":             leader,
	"GET /fed/v1/reports":                   leader,
	"GET /fed/v1/webhooks":                  leader,
	"GET /fed/v1/webhook/{name}/deliveries": leader,
	"GET /fed/v1/books/bills":               leader,
	"GET /fed/v1/options":                   leader,
	"GET /fed/v1/steps":                     leader,
	"GET /fed/v1/pools":                     leader,
	"GET /fed/v1/machines":                  leader,
	"GET /fed/v1/offers":                    leader,

	"GET /openapi":                        each,
	"GET /openapi/v3":                     each,
	"GET /openapi.json":                   each,
	"GET /slurm/{version}/jobs":           each,
	"GET /slurm/{version}/jobs/state":     each,
	"GET /slurm/{version}/job/{id}":       each,
	"GET /slurmdb/{version}/jobs":         each,
	"GET /slurmdb/{version}/job/{id}":     each,
	"GET /slurmdb/{version}/instances":    each,
	"GET /slurmdb/{version}/instance":     each,
	"GET /slurmdb/{version}/config":       each,
	"GET /slurmdb/{version}/diag":         each,
	"GET /slurmdb/{version}/wckeys":       each,
	"GET /slurmdb/{version}/wckey/{name}": each,

	"GET /slurm/{version}/ping":               leader,
	"GET /slurm/{version}/diag":               leader,
	"GET /slurm/{version}/nodes":              leader,
	"GET /slurm/{version}/node/{name}":        leader,
	"GET /slurm/{version}/partitions":         leader,
	"GET /slurm/{version}/partition/{name}":   leader,
	"GET /slurm/{version}/licenses":           leader,
	"GET /slurm/{version}/reservations":       leader,
	"GET /slurm/{version}/reservation/{name}": leader,
	"GET /slurm/{version}/shares":             leader,
	"GET /slurmdb/{version}/ping":             leader,
	"GET /slurmdb/{version}/clusters":         leader,
	"GET /slurmdb/{version}/cluster/{name}":   leader,
	"GET /slurmdb/{version}/accounts":         leader,
	"GET /slurmdb/{version}/account/{name}":   leader,
	"GET /slurmdb/{version}/users":            leader,
	"GET /slurmdb/{version}/user/{name}":      leader,
	"GET /slurmdb/{version}/associations":     leader,
	"GET /slurmdb/{version}/association":      leader,
	"GET /slurmdb/{version}/qos":              leader,
	"GET /slurmdb/{version}/qos/{name}":       leader,
	"GET /slurmdb/{version}/tres":             leader,
	"GET /metrics":                            leader,
}

// standing is a server's at a daemon that stands by.
type standing struct {
	leader http.Handler // passes a request on
	queue  *queue.Queue
}

// elsewhere passes on what the leader is to answer: also a call from inside a job, which may have to wait until the leader has seen that job start, one from another
// machine, whose token the leader knows, what takes the database while that does not answer, since the leader's answer is waited for, when jobs are expected to start and what runs has come to,
// which who plans knows, and all while this daemon has much to read.
func (s *standing) elsewhere(route string, r *http.Request) http.Handler {
	here := answeredBy[route] == each && r.Header.Get(answer.HeaderJob) == "" && r.TLS == nil && s.queue.Complete()
	planned := route == ofQueue && r.URL.Query().Get("start") != "" || route == ofSums && r.URL.Query().Get("running") != ""
	switch {
	case here && !planned && !s.queue.Fails() && !s.queue.Behind(), here && s.queue.Fails() && route == ofQueue:
		return nil
	}
	return s.leader
}

const (
	ofQueue = "GET /fed/v1/queue"
	ofSums  = "GET /fed/v1/books/sums"
)

// catchUp has the daemon know what was written before a request came: who may see what depends on it. The queue sees to that by itself, and is listed with its age
// where it cannot.
func (s *standing) catchUp(route string, r *http.Request) error {
	if route == ofQueue {
		return nil
	}
	return s.queue.CatchUp(r.Context())
}

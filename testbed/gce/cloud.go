package gce

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"fsub/testbed/machines"
)

// Config says what cloud to make. The zero value is a good one.
type Config struct {
	Project string   // "project-1"
	Region  string   // "us-central1"
	Zones   []string // "us-central1-a" and so on; three of them
	Types   []Type   // what can be rented; [Types] where nil

	// Process makes running machines run their startup script, which takes root. Else they are only states.
	Process bool
	// Dir holds the machines' directories; a new one, removed by Close, where empty.
	Dir string

	Pending time.Duration // from the call to the end of its operation, and from there to running; 20 ms
	Queue   time.Duration // how long a queued request waits; 50 ms
	Lag     time.Duration // for how long a queued resource of TPUs is not shown after it was asked for; 0
	Grace   time.Duration // from SIGTERM to SIGKILL of a machine that is ended; 2 s
	Lead    time.Duration // from a preemption's notice to the end; 2 s (30 s at Google)
	Latency time.Duration // the least time that an answer takes; 1 ms

	Log *slog.Logger
}

func (cfg *Config) defaults() {
	cfg.Project = cmp.Or(cfg.Project, "project-1")
	cfg.Region = cmp.Or(cfg.Region, "us-central1")
	if cfg.Zones == nil {
		cfg.Zones = []string{cfg.Region + "-a", cfg.Region + "-b", cfg.Region + "-c"}
	}
	if cfg.Types == nil {
		cfg.Types = Types()
	}
	cfg.Pending = cmp.Or(cfg.Pending, 20*time.Millisecond)
	cfg.Queue = cmp.Or(cfg.Queue, 50*time.Millisecond)
	cfg.Grace = cmp.Or(cfg.Grace, 2*time.Second)
	cfg.Lead = cmp.Or(cfg.Lead, 2*time.Second)
	cfg.Latency = cmp.Or(cfg.Latency, time.Millisecond)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
}

// Cloud is one project in one region of a simulated Google. Its methods may be called from several goroutines.
type Cloud struct {
	*machines.Host
	machines.Faults
	cfg Config

	seq        int
	machines   map[string]*machine // by "zone/name"
	order      []*machine          // oldest first
	ended      []*machine          // Google forgets them; tests look at them
	operations map[string]*operation
	requests   map[string]*operation // by method and requestId
	policies   map[string]doc
	templates  map[string]doc
	groups     map[string]*group // by "zone/name"
	reserved   map[string]doc    // by "zone/name"
	nodes      map[string]*node  // TPU nodes, by their full name
	queued     map[string]*queuedTPU
	fixed      map[string]doc  // what is only looked at, by action and name
	withheld   map[string]bool // permissions
}

// New makes a cloud without machines. Close it.
func New(cfg Config) *Cloud {
	cfg.defaults()
	c := &Cloud{
		cfg: cfg, Host: machines.NewHost(cfg.Dir, cfg.Process, cfg.Log), machines: map[string]*machine{}, operations: map[string]*operation{}, requests: map[string]*operation{},
		policies: map[string]doc{}, templates: map[string]doc{}, groups: map[string]*group{}, reserved: map[string]doc{}, nodes: map[string]*node{}, queued: map[string]*queuedTPU{},
		withheld: map[string]bool{},
	}
	c.fixed = c.house()
	c.Handler = c
	return c
}

// Project is the only project.
func (c *Cloud) Project() string { return c.cfg.Project }

// Region is the only region.
func (c *Cloud) Region() string { return c.cfg.Region }

// request is one call.
type request struct {
	*http.Request
	method *method
	vars   map[string]string
	query  url.Values
	body   doc
}

// action does one call. The lock is held.
type action func(*Cloud, *request) (doc, error)

// actions is all that the stand-in can do.
var actions = map[string]action{
	"instances.bulkInsert":                        (*Cloud).bulkInsert,
	"instances.aggregatedList":                    (*Cloud).aggregatedInstances,
	"instances.list":                              (*Cloud).listInstances,
	"instances.delete":                            (*Cloud).deleteInstance,
	"instances.getSerialPortOutput":               (*Cloud).getSerialPort,
	"machineTypes.aggregatedList":                 (*Cloud).aggregatedTypes,
	"regions.get":                                 (*Cloud).getRegion,
	"reservations.aggregatedList":                 (*Cloud).aggregatedReservations,
	"resourcePolicies.insert":                     (*Cloud).insertPolicy,
	"resourcePolicies.list":                       (*Cloud).listPolicies,
	"resourcePolicies.delete":                     (*Cloud).deletePolicy,
	"instanceTemplates.insert":                    (*Cloud).insertTemplate,
	"instanceTemplates.list":                      (*Cloud).listTemplates,
	"instanceTemplates.delete":                    (*Cloud).deleteTemplate,
	"instanceGroupManagers.insert":                (*Cloud).insertGroup,
	"instanceGroupManagers.aggregatedList":        (*Cloud).aggregatedGroups,
	"instanceGroupManagers.delete":                (*Cloud).deleteGroup,
	"instanceGroupManagers.deleteInstances":       (*Cloud).deleteGroupInstances,
	"instanceGroupManagerResizeRequests.insert":   (*Cloud).insertResize,
	"instanceGroupManagerResizeRequests.get":      (*Cloud).getResize,
	"instanceGroupManagerResizeRequests.list":     (*Cloud).listResizes,
	"instanceGroupManagerResizeRequests.cancel":   (*Cloud).cancelResize,
	"zoneOperations.wait":                         (*Cloud).waitOperation,
	"regionOperations.wait":                       (*Cloud).waitOperation,
	"globalOperations.wait":                       (*Cloud).waitOperation,
	"projects.get":                                look("projects.get", ""),
	"networks.get":                                look("networks.get", "network"),
	"subnetworks.get":                             look("subnetworks.get", "subnetwork"),
	"firewalls.list":                              look("firewalls.list", ""),
	"routers.list":                                look("routers.list", ""),
	"images.get":                                  (*Cloud).getImage,
	"images.getFromFamily":                        (*Cloud).getImage,
	"projects.testIamPermissions":                 (*Cloud).testPermissions,
	"projects.serviceAccounts.testIamPermissions": (*Cloud).testPermissions,
}

func init() {
	for name, act := range map[string]action{
		"acceleratorTypes.list": (*Cloud).listAcceleratorTypes, "runtimeVersions.list": (*Cloud).listRuntimes, "nodes.list": (*Cloud).listNodes, "nodes.delete": (*Cloud).deleteNode,
		"queuedResources.create": (*Cloud).createQueued, "queuedResources.get": (*Cloud).getQueued, "queuedResources.list": (*Cloud).listQueued, "queuedResources.delete": (*Cloud).deleteQueued,
	} {
		actions["projects.locations."+name] = act
	}
}

// ServeHTTP answers one call.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
	if err != nil {
		http.Error(w, "the request is too long", http.StatusRequestEntityTooLarge)
		return
	}
	time.Sleep(c.cfg.Latency)
	if _, id, ok := strings.Cut(r.URL.Path, "/quotaInfos/"); ok { // Cloud Quotas, of which the module has no document
		json.NewEncoder(w).Encode(c.quotaInfo(id))
		return
	}
	service, from := serviceOf(r.URL.Path)
	m, vars := service().find(r)
	name := r.Method + " " + r.URL.Path
	if m != nil {
		name = strings.TrimPrefix(m.ID, from)
	}
	fault := c.Begin(r, name, url.Values{"Path": {r.URL.Path}, "Body": {string(body)}, "Query": {r.URL.RawQuery}})
	fault.Cut(r, c.Done())
	answer, err := c.answer(service(), &request{Request: r, method: m, vars: vars, query: r.URL.Query()}, name, body, fault)
	fault.CutReply()
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	var no *refusal
	if errors.As(err, &no) {
		w.WriteHeader(no.status)
		answer = no.doc(from != "compute.")
	} else if err != nil {
		c.cfg.Log.Error("the stand-in fails", "action", name, "err", err)
		w.WriteHeader(http.StatusInternalServerError)
		answer = (&refusal{500, "internalError", "the stand-in fails: " + err.Error()}).doc(false)
	}
	json.NewEncoder(w).Encode(answer)
}

// answer does what is asked.
func (c *Cloud) answer(service *api, r *request, name string, body []byte, fault *machines.Fault) (doc, error) {
	act := actions[name]
	switch {
	case !c.Allow(name):
		return nil, &refusal{http.StatusForbidden, "rateLimitExceeded", "Rate Limit Exceeded"}
	case c.Denied(name):
		return nil, &refusal{http.StatusForbidden, "forbidden", "Required '" + name + "' permission for 'projects/" + c.cfg.Project + "'"}
	case fault.Refuses():
		return nil, &refusal{cmp.Or(fault.Status, http.StatusServiceUnavailable), fault.Code, cmp.Or(fault.Text, "The request was refused.")}
	case r.method == nil:
		return nil, &refusal{http.StatusNotFound, "notFound", "The requested URL was not found on this server."}
	case act == nil:
		return nil, &refusal{http.StatusNotImplemented, "notImplemented", "The stand-in does not do " + name}
	}
	if err := r.method.checkQuery(trimmed(r.query)); err != nil {
		return nil, &refusal{http.StatusBadRequest, "invalidParameter", err.Error()}
	}
	if err := checkID(r.query.Get("requestId")); err != nil {
		return nil, err
	}
	if r.method.Request != nil {
		if err := json.Unmarshal(body, &r.body); err != nil {
			return nil, &refusal{http.StatusBadRequest, "parseError", "Invalid JSON payload received: " + err.Error()}
		}
		if err := (&checker{service.schemas, r.method.ID, true}).check(r.method.Request, map[string]any(r.body), "resource"); err != nil {
			return nil, &refusal{http.StatusBadRequest, "invalid", "Invalid JSON payload received. " + err.Error()}
		}
	}
	if p := r.vars["project"]; p != "" && p != c.cfg.Project && !strings.HasPrefix(name, "images.") && !(name == "reservations.aggregatedList" && c.shares(p)) {
		return nil, &refusal{http.StatusNotFound, "notFound", "The resource 'projects/" + p + "' was not found"}
	}
	if z := r.vars["locationsId"]; z != "" && (!slices.Contains(c.cfg.Zones, z) || r.vars["projectsId"] != c.cfg.Project) {
		return nil, &refusal{http.StatusNotFound, "notFound", "Location " + z + " is not found or access is unauthorized."}
	}
	if z := r.vars["zone"]; z != "" && !slices.Contains(c.cfg.Zones, z) {
		return nil, &refusal{http.StatusNotFound, "notFound", "The resource 'projects/" + c.cfg.Project + "/zones/" + z + "' was not found"}
	}
	c.Mu.Lock()
	out, err := act(c, r)
	if err == nil {
		out, err = reread(out) // a copy, so that nobody else's lock is needed
	}
	closed := c.Closed()
	c.Mu.Unlock()
	if closed {
		return nil, &refusal{http.StatusServiceUnavailable, "backendError", "The stand-in is closed."}
	}
	if err != nil {
		return nil, err
	}
	if err := (&checker{schemas: service.schemas}).check(r.method.Response, map[string]any(out), "answer"); err != nil {
		return nil, fmt.Errorf("%s: the answer is not Google's: %w", name, err)
	}
	return out, nil
}

// trimmed are the parameters without those that only gcloud and the REST transport add.
func trimmed(q url.Values) url.Values {
	q = maps.Clone(q)
	for _, name := range []string{"alt", "prettyPrint", "$alt"} {
		q.Del(name)
	}
	return q
}

func reread(d doc) (out doc, err error) {
	text, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

// refusal is an error answer.
type refusal struct {
	status       int
	reason, text string
}

func (r *refusal) Error() string { return r.reason + ": " + r.text }

// statusNames are what the newer APIs call an error's status.
var statusNames = map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ALREADY_EXISTS", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}

func (r *refusal) doc(newer bool) doc {
	e := doc{"code": r.status, "message": r.text}
	if newer {
		e["status"] = cmp.Or(statusNames[r.status], "UNKNOWN")
		if r.reason == "rateLimitExceeded" {
			e["code"], e["status"] = 429, "RESOURCE_EXHAUSTED"
		}
		e["details"] = []any{doc{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": r.reason, "domain": "googleapis.com"}}
	} else {
		e["errors"] = []any{doc{"message": r.text, "domain": "global", "reason": r.reason}}
	}
	return doc{"error": e}
}

func missing(kind, name string) error {
	return &refusal{http.StatusNotFound, "notFound", "The resource '" + kind + "/" + name + "' was not found"}
}

func exists(kind, name string) error {
	return &refusal{http.StatusConflict, "alreadyExists", "The resource '" + kind + "/" + name + "' already exists"}
}

func str(d doc, keys ...string) string {
	for _, k := range keys[:len(keys)-1] {
		d, _ = d[k].(map[string]any)
	}
	s, _ := d[keys[len(keys)-1]].(string)
	return s
}

func (c *Cloud) url(parts ...string) string {
	return "https://www.googleapis.com/compute/v1/projects/" + c.cfg.Project + "/" + strings.Join(parts, "/")
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

package azure

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"fsub/testbed/machines"
)

// armError is a refusal as ARM writes it.
type armError struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func bad(code, format string, args ...any) *armError {
	return &armError{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

// answer is what a call is answered with.
type answer struct {
	status int
	body   any
	op     *operation // it goes on
	err    *armError
}

func refusal(e *armError) answer { return answer{err: e} }

// call is a request, taken apart.
type call struct {
	method string
	url    string   // its path
	path   []string // after the provider's name: "virtualMachineScaleSets", "fsub-1", "virtualMachines", "0"
	query  url.Values
	header http.Header
	host   string
	body   []byte
}

// action is a call's name: "PUT virtualMachineScaleSets", "POST virtualMachineScaleSets/delete".
func (k *call) action() string {
	kinds := []string{}
	for i, part := range k.path {
		if i%2 == 0 {
			kinds = append(kinds, part)
		}
	}
	return k.method + " " + strings.Join(kinds, "/")
}

// ServeHTTP answers one call.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "the request is too long", http.StatusRequestEntityTooLarge)
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/console/"); ok {
		fmt.Fprint(w, c.console(name))
		return
	}
	_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/subscriptions/"+Subscription), "/providers/")
	parts := strings.Split(rest, "/")
	k := &call{method: r.Method, url: r.URL.Path, path: parts[1:], query: r.URL.Query(), header: r.Header, host: r.Host, body: body}
	fault := c.Begin(r, k.action(), url.Values{"Path": {r.URL.Path}, "Body": {string(body)}})
	fault.Cut(r, c.Done())
	a := c.answer(k, fault)
	fault.CutReply()
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("x-ms-request-id", machines.UUID())
	if a.op != nil {
		w.Header().Set("Azure-AsyncOperation", fmt.Sprintf("http://%s/subscriptions/%s/providers/Microsoft.Compute/locations/%s/operations/%s?p=1&api-version=2026-04-01", r.Host, Subscription, c.cfg.Location, c.name(a.op)))
		w.Header().Set("Azure-AsyncNotification", "Enabled")
		w.Header().Set("Retry-After", "1")
		w.Header().Set("x-ms-retry-after-ms", "20")
	}
	if a.err != nil {
		if a.status = a.err.Status; a.status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		a.body = map[string]any{"error": a.err}
	}
	if list, ok := a.body.([]any); ok {
		a.body = c.page(r, list)
	}
	w.WriteHeader(a.status)
	if a.body != nil {
		json.NewEncoder(w).Encode(a.body)
	}
}

// page is a part of a listing.
func (c *Cloud) page(r *http.Request, list []any) any {
	from, _ := strconv.Atoi(r.URL.Query().Get("$skiptoken"))
	from = min(from, len(list))
	out := map[string]any{"value": list[from:]}
	if end := from + c.cfg.Page; end < len(list) {
		next := *r.URL
		q := next.Query()
		q.Set("$skiptoken", strconv.Itoa(end))
		next.Scheme, next.Host, next.RawQuery = "http", r.Host, q.Encode()
		out["value"], out["nextLink"] = list[from:end], next.String()
	}
	return out
}

// name is the ID under which an operation is asked for.
func (c *Cloud) name(op *operation) string {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	for id, other := range c.ops {
		if other == op {
			return id
		}
	}
	id := machines.UUID()
	c.ops[id] = op
	return id
}

func (c *Cloud) answer(k *call, fault *machines.Fault) answer {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	action := k.action()
	switch {
	case c.Closed():
		return refusal(&armError{503, "ServiceUnavailable", "The stand-in is closed."})
	case k.header.Get("Authorization") != "Bearer "+c.cfg.Token:
		return refusal(&armError{401, "InvalidAuthenticationToken", "The access token is invalid."})
	case !c.Allow(action):
		return refusal(&armError{429, "TooManyRequests", `{"operationGroup":"HighCostGetVMScaleSet3Min","startTime":"2026-11-01T00:00:00+00:00","endTime":"2026-11-01T00:03:00+00:00","allowedRequestCount":1,"measuredRequestCount":2}`})
	case c.Denied(action):
		return refusal(&armError{403, "AuthorizationFailed", fmt.Sprintf("The client 'fsub' with object id '0' does not have authorization to perform action '%s' over scope '%s' or the scope is invalid. "+
			"If access was recently granted, please refresh your credentials.", action, c.id("Microsoft.Compute/"+k.path[0], ""))})
	case fault.Refuses():
		status := fault.Status
		if status == 0 {
			status = http.StatusInternalServerError
		}
		return refusal(&armError{status, fault.Code, fault.Text})
	}
	if why := c.place(k.url, k.query.Get("api-version")); why != nil {
		return refusal(why)
	}
	act := actions[action]
	if act == nil {
		return refusal(&armError{404, "InvalidResourceType", "The stand-in does not know: " + action})
	}
	return act(c, k)
}

// actions are the calls that the driver makes.
var actions = map[string]func(*Cloud, *call) answer{
	"GET skus":                 (*Cloud).skus,
	"GET locations/usages":     (*Cloud).usages,
	"GET locations/operations": (*Cloud).operation,
	"GET capacityReservationGroups/capacityReservations":                       (*Cloud).reservations,
	"GET virtualMachineScaleSets":                                              (*Cloud).getSets,
	"PUT virtualMachineScaleSets":                                              (*Cloud).putSet,
	"DELETE virtualMachineScaleSets":                                           (*Cloud).deleteSet,
	"GET virtualMachineScaleSets/instanceView":                                 (*Cloud).view,
	"GET virtualMachineScaleSets/virtualMachines":                              (*Cloud).members,
	"GET virtualMachineScaleSets/networkInterfaces":                            (*Cloud).nics,
	"POST virtualMachineScaleSets/delete":                                      (*Cloud).deleteMembers,
	"DELETE virtualMachineScaleSets/virtualMachines":                           (*Cloud).deleteMember,
	"POST virtualMachines/retrieveBootDiagnosticsData":                         (*Cloud).diagnostics,
	"POST virtualMachineScaleSets/virtualMachines/retrieveBootDiagnosticsData": (*Cloud).diagnostics,
	"GET virtualMachines":                                                      (*Cloud).getVMs,
	"DELETE virtualMachines":                                                   (*Cloud).deleteVM,
	"GET networkInterfaces":                                                    (*Cloud).nics,
	"GET virtualNetworks/subnets":                                              (*Cloud).subnet,
}

func (c *Cloud) id(kind, name string) string {
	return "/subscriptions/" + Subscription + "/resourceGroups/" + c.cfg.ResourceGroup + "/providers/" + kind + "/" + name
}

func ok(body any) answer { return answer{status: http.StatusOK, body: body} }

// find is the set that a call is about.
func (c *Cloud) find(k *call) (*set, *armError) {
	if s := c.sets[strings.ToLower(k.path[1])]; s != nil {
		return s, nil
	}
	return nil, &armError{404, "ResourceNotFound", fmt.Sprintf("The Resource 'Microsoft.Compute/virtualMachineScaleSets/%s' under resource group '%s' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix",
		k.path[1], c.cfg.ResourceGroup)}
}

func (c *Cloud) operation(k *call) answer {
	op := c.ops[k.path[3]]
	if op == nil {
		return refusal(&armError{404, "OperationNotFound", "The operation was not found."})
	}
	status := map[string]any{"startTime": op.start, "status": "InProgress", "name": k.path[3]}
	switch {
	case op.why != nil:
		status["status"], status["error"] = "Failed", op.why
	case op.done:
		status["status"] = "Succeeded"
	}
	a := ok(status)
	if !op.done {
		a.op = op
	}
	return a
}

func (c *Cloud) putSet(k *call) answer {
	if c.sets[strings.ToLower(k.path[1])] != nil {
		if k.header.Get("If-None-Match") == "*" {
			return refusal(&armError{412, "PreconditionFailed", "The precondition given in one of the request headers evaluated to false."})
		}
		return refusal(&armError{409, "OperationNotAllowed", "The stand-in does not change scale sets."})
	}
	model := &armcompute.VirtualMachineScaleSet{}
	if err := json.Unmarshal(k.body, model); err != nil {
		return refusal(bad("InvalidRequestContent", "The request content was invalid and could not be deserialized: '%v'.", err))
	}
	if v := model.Properties; v != nil && v.VirtualMachineProfile != nil && v.VirtualMachineProfile.OSProfile != nil && v.VirtualMachineProfile.OSProfile.CustomData != nil {
		if data, err := base64.StdEncoding.DecodeString(*v.VirtualMachineProfile.OSProfile.CustomData); err != nil || len(data) > 64<<10 {
			return refusal(bad("InvalidParameter", "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 characters."))
		}
	}
	id := c.id("Microsoft.Compute/virtualMachineScaleSets", k.path[1])
	model.ID, model.Name = &id, &k.path[1]
	s, op, why := c.begin(model)
	if why != nil {
		return refusal(why)
	}
	return answer{status: http.StatusCreated, body: s.show(), op: op}
}

// show is a set as Azure shows it: without what was secret.
func (s *set) show() any {
	m := *s.model
	p := *m.Properties
	state := s.state // the answer is written without the lock
	p.ProvisioningState, p.VirtualMachineProfile = &state, nil
	m.Properties = &p
	return &m
}

func (c *Cloud) getSets(k *call) answer {
	if len(k.path) > 1 {
		s, why := c.find(k)
		if why != nil {
			return refusal(why)
		}
		return ok(s.show())
	}
	list := []any{}
	for _, s := range c.sets {
		list = append(list, s.show())
	}
	return ok(list)
}

// ended is the answer to a call that deletes: it goes on for a moment.
func (c *Cloud) ended() answer {
	return answer{status: http.StatusAccepted, op: &operation{start: time.Now(), done: true}}
}

func (c *Cloud) deleteSet(k *call) answer {
	s, why := c.find(k)
	if why != nil {
		return answer{status: http.StatusNoContent}
	}
	c.drop(s)
	return c.ended()
}

func (c *Cloud) view(k *call) answer {
	s, why := c.find(k)
	if why != nil {
		return refusal(why)
	}
	status := map[string]any{"code": "ProvisioningState/" + strings.ToLower(s.state), "level": "Info"}
	if s.why != nil {
		status = map[string]any{"code": "ProvisioningState/failed/" + s.why.Code, "level": "Error", "message": s.why.Message}
	}
	return ok(map[string]any{"statuses": []any{status}})
}

package ec2

import (
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Call is one request that the cloud has got, whatever became of it.
type Call struct {
	Action string // "RunInstances"; "pricing:GetProducts"
	At     time.Time
	Form   url.Values // the parameters; of pricing, "Body" is the JSON
	Agent  string     // User-Agent
	Fault  FaultKind  // what was done to it by a test; "" nothing
}

// Calls returns all calls since the start or the last ResetCalls, oldest first.
func (c *Cloud) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// Count returns the number of calls of an action; "" counts all.
func (c *Cloud) Count(action string) int {
	n := 0
	for _, call := range c.Calls() {
		if action == "" || call.Action == action {
			n++
		}
	}
	return n
}

// ResetCalls forgets the calls so far.
func (c *Cloud) ResetCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = nil
}

// begin records a call and returns the fault that it meets, if any.
func (c *Cloud) begin(r *http.Request, action string, form url.Values) *Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := Call{Action: action, At: time.Now(), Form: form, Agent: r.UserAgent()}
	fault := c.faults.take(action)
	if fault != nil {
		call.Fault = fault.Kind
	}
	c.calls = append(c.calls, call)
	return fault
}

package machines

import (
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Call is one request that the cloud has got, whatever became of it.
type Call struct {
	Action string // "RunInstances"; "pricing:GetProducts"; of ARM "PUT virtualMachines"
	At     time.Time
	Form   url.Values // the parameters; "Body" is one in JSON
	Agent  string     // User-Agent
	Fault  FaultKind  // what was done to it by a test; "" nothing
}

// Calls returns all calls since the start or the last ResetCalls, oldest first.
func (f *Faults) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Count returns the number of calls of an action; "" counts all.
func (f *Faults) Count(action string) int {
	n := 0
	for _, call := range f.Calls() {
		if action == "" || call.Action == action {
			n++
		}
	}
	return n
}

// ResetCalls forgets the calls so far.
func (f *Faults) ResetCalls() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
}

// Begin records a call and returns the fault that it meets, if any.
func (f *Faults) Begin(r *http.Request, action string, form url.Values) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	call := Call{Action: action, At: time.Now(), Form: form, Agent: r.UserAgent()}
	fault := f.take(action)
	if fault != nil {
		call.Fault = fault.Kind
	}
	f.calls = append(f.calls, call)
	return fault
}

package azure

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Machine is what a test may know of a machine.
type Machine struct {
	Name, Size, Zone, Market string
	State                    string // "Creating", "Succeeded", "Deleting"; "": it is gone
	Stopped                  bool   // it has switched itself off
	Token                    string // of its gang
	Addr, Dir, CustomData    string
	Made, Ended              time.Time
}

// Machines are all that there were, oldest first.
func (c *Cloud) Machines() []Machine {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	var list []Machine
	for _, v := range c.all {
		m := Machine{Name: v.name, Size: v.set.size.Name, Zone: v.set.pool.Zone, Market: v.set.pool.Market, State: v.state, Stopped: v.stopped, Addr: v.addr,
			CustomData: string(v.data), Made: v.made, Ended: v.ended}
		if token := v.set.model.Tags["fsub-gang"]; token != nil {
			m.Token = *token
		}
		if v.machine != nil {
			m.Dir = v.machine.Dir()
		}
		list = append(list, m)
	}
	return list
}

// Live counts the machines that are paid for, also those that have switched themselves off.
func (c *Cloud) Live() (n int) {
	for _, m := range c.Machines() {
		if m.State == "Creating" || m.State == "Succeeded" {
			n++
		}
	}
	return n
}

// Sets counts the scale sets that are there.
func (c *Cloud) Sets() int {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return len(c.sets)
}

// SpotNotice announces that a machine is taken back, and does that when the lead time is over; 0 is Config.Lead.
func (c *Cloud) SpotNotice(name string, lead time.Duration) error {
	return c.with(name, func(v *vm) {
		if lead == 0 {
			lead = c.cfg.Lead
		}
		v.notice = time.Now().Add(lead)
		c.Later(lead, func() { c.end(v, c.cfg.Grace) })
	})
}

// Kill ends a machine at once and unannounced.
func (c *Cloud) Kill(name string) error { return c.with(name, func(v *vm) { c.end(v, 0) }) }

// with does fn to a machine that is there.
func (c *Cloud) with(name string, fn func(*vm)) error {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	for _, v := range c.all {
		if v.name == name && v.state != "" {
			fn(v)
			return nil
		}
	}
	return fmt.Errorf("there is no machine %s", name)
}

// Metadata is the metadata service of a machine.
func (c *Cloud) Metadata(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		c.with(name, func(v *vm) { answer = c.metadata(v, r.URL.Path) })
		switch {
		case r.Header.Get("Metadata") != "true" || r.Header.Get("X-Forwarded-For") != "":
			http.Error(w, `{"error":"Bad request. Required metadata header not specified"}`, http.StatusBadRequest)
		case r.URL.Query().Get("api-version") == "":
			http.Error(w, `{"error":"Bad request. api-version was not specified in the request."}`, http.StatusBadRequest)
		case answer == nil:
			http.NotFound(w, r)
		default:
			json.NewEncoder(w).Encode(answer)
		}
	})
}

func (c *Cloud) metadata(v *vm, path string) any {
	switch path {
	case "/metadata/instance/compute":
		return map[string]any{"name": v.name, "location": c.cfg.Location, "resourceGroupName": c.cfg.ResourceGroup, "subscriptionId": Subscription, "vmSize": v.set.size.Name,
			"vmScaleSetName": *v.set.model.Name, "osType": "Linux", "provider": "Microsoft.Compute"}
	case "/metadata/instance/network":
		return map[string]any{"interface": []any{map[string]any{"ipv4": map[string]any{"ipAddress": []any{map[string]string{"privateIpAddress": v.addr, "publicIpAddress": ""}}}}}}
	case "/metadata/scheduledevents":
		events := []any{}
		if !v.notice.IsZero() {
			events = append(events, map[string]any{"EventId": "C7061BAC-AFDC-4513-B24B-AA5F13A16123", "EventType": "Preempt", "ResourceType": "VirtualMachine", "Resources": []string{v.name},
				"EventStatus": "Scheduled", "NotBefore": v.notice.UTC().Format(http.TimeFormat), "Description": "", "EventSource": "Platform", "DurationInSeconds": -1})
		}
		return map[string]any{"DocumentIncarnation": 1, "Events": events}
	}
	return nil
}

package tpu

import (
	"testing"

	tpuapi "google.golang.org/api/tpu/v2alpha1"
)

// FuzzHosts reads nodes as Google shows them: whatever stands in their names and descriptions, which others of the project can change, a slice has
// no more hosts than there are.
func FuzzHosts(f *testing.F) {
	f.Add("projects/p/locations/z/nodes/fed-abc-1", `{"gang":"g","offering":"v5p-8","hosts":2,"names":"n[0-3]","request":"x"}`, "READY", 2)
	f.Add("projects/p/locations/z/nodes/fed-abc--5", `{"hosts":1000000000000,"names":"n[0-3]"}`, "PREEMPTED", 0)
	f.Add("x", `{"hosts":-1,"names":"n["}`, "", 1)
	f.Fuzz(func(t *testing.T, name, description, state string, endpoints int) {
		n := &tpuapi.Node{Name: name, Description: description, State: state, CreateTime: "2026-11-22T12:00:00Z"}
		for range min(max(endpoints, 0), 8) {
			n.NetworkEndpoints = append(n.NetworkEndpoints, &tpuapi.NetworkEndpoint{IpAddress: "10.0.0.1"})
		}
		hosts := hostsOf(n)
		if len(hosts) == 0 || len(hosts) > mostHosts {
			t.Errorf("%d hosts", len(hosts))
		}
		for _, h := range hosts {
			if h.ID == "" || h.State == "" {
				t.Errorf("%+v", h)
			}
		}
	})
}

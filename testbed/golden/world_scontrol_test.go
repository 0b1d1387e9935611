package golden

import (
	"time"

	"fsub/federation"
	"fsub/topology"
)

// describe adds to the site what scontrol shows of it: what its nodes say of themselves, its licenses and its switches.
func describe(site *federation.Site, began time.Time) *federation.Site {
	o := site.Seen
	for i := range o.Nodes {
		n := o.Nodes[i].Info
		n.Architecture, n.System, n.Port = "x86_64", "Linux 6.18.44-fc-v657 #1 SMP PREEMPT_DYNAMIC @0", 27210+i
		n.Booted, n.Started, n.LastBusy = began.Add(-3192*time.Second), began.Add(-48*time.Second), began.Add(-47*time.Second)
	}
	o.Licenses = []federation.License{{Name: "ansys", Total: 4}, {Name: "matlab", Total: 10}}
	o.Tree = topology.Tree{Switches: []topology.Switch{
		{Name: "leaf1", Nodes: []string{"chk1", "chk2"}}, {Name: "leaf2", Nodes: []string{"chk3", "chk4"}},
		{Name: "spine", Level: 1, Nodes: []string{"chk1", "chk2", "chk3", "chk4"}, Children: []string{"leaf1", "leaf2"}},
	}}
	return site
}

package daemon

import (
	"context"
	"testing"

	"fsub/federation"
	"fsub/federation/controller"
	"fsub/federation/driver"
)

// rebootable is a driver that reboots nodes and has a budget of calls.
type rebootable struct {
	federation.Driver
	used float64
}

func (d *rebootable) Abilities() driver.Abilities {
	return driver.Abilities{Reboot: d, Calls: func() (float64, float64) { return 10, d.used }}
}

func (d *rebootable) RebootNodes(context.Context, driver.RebootOrder) error { return nil }

// TestMembersAreAsTheyAreNow: what asks for a site's abilities gets those of the driver that it has now, of sites too that were added since.
func TestMembersAreAsTheyAreNow(t *testing.T) {
	var m members
	if m.rebooter("alpha") != nil || m.calls("alpha") != nil || len(m.list()) != 0 {
		t.Error("a site that is not there has abilities")
	}
	for used, d := range []*rebootable{{used: 0}, {used: 1}} {
		m.put(controller.Site{Name: "alpha", Driver: d})
		if m.rebooter("alpha") != driver.Rebooter(d) {
			t.Errorf("driver %d does not reboot its nodes", used)
		}
		if _, is := m.calls("alpha")(); is != float64(used) {
			t.Errorf("driver %d: %v calls are used", used, is)
		}
	}
	if all := m.list(); len(all) != 1 {
		t.Errorf("%d sites", len(all))
	}
}

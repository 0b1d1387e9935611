package gce

import (
	"fmt"
	"slices"
	"time"
)

// Preempt takes a spot machine back: its metadata says so, and after the lead time (0 is Config.Lead) it is stopped, and deleted where that was asked for.
// ID is "ZONE/NAME".
func (c *Cloud) Preempt(id string, lead time.Duration) error {
	return c.with(id, func(m *machine) {
		if m.preempted = true; lead == 0 {
			lead = c.cfg.Lead
		}
		c.Later(lead, func() {
			if m.node != nil {
				c.preemptNode(m.node)
				return
			}
			then := terminated
			if str(m.props, "scheduling", "instanceTerminationAction") == "DELETE" {
				then = ""
			}
			c.stop(m, c.cfg.Grace, "Instance was preempted.", then)
		})
	})
}

// Kill ends a machine at once and unannounced, as when its host breaks.
func (c *Cloud) Kill(id string) error {
	return c.with(id, func(m *machine) { c.stop(m, 0, "Instance terminated by host error", terminated) })
}

func (c *Cloud) with(id string, do func(*machine)) error {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	m := c.machines[id]
	if m == nil || !m.alive() || c.Closed() {
		return fmt.Errorf("there is no live machine %s", id)
	}
	do(m)
	return nil
}

// Instance is what a test may know of a machine.
type Instance struct {
	ID, Name, Zone, Type, Market string
	Status                       string // as it really is; "" it is gone
	Addr                         string
	Node                         string // TPU node
	Labels                       map[string]string
	Script                       string
	Attributes                   map[string]string
	Made, Gone                   time.Time
}

// Instances returns all machines that there were, oldest first.
func (c *Cloud) Instances() []Instance {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	var out []Instance
	for _, m := range append(slices.Clone(c.ended), c.order...) {
		i := Instance{ID: m.zone + "/" + m.name, Name: m.name, Zone: m.zone, Market: m.market, Status: m.status, Addr: m.addr, Script: m.attributes["startup-script"], Attributes: m.attributes, Made: m.made, Gone: m.gone, Labels: map[string]string{}}
		if m.typ != nil {
			i.Type = m.typ.Name
		}
		if m.node != nil {
			i.Node = m.node.name
		}
		if labels, ok := m.props["labels"].(map[string]any); ok {
			for k, v := range labels {
				i.Labels[k], _ = v.(string)
			}
		}
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b Instance) int { return a.Made.Compare(b.Made) })
	return out
}

// Live counts the machines that are paid for: those that run, and those that are stopped and have their disks.
func (c *Cloud) Live() int {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return len(c.order)
}

// Left counts what gangs leave behind: policies, templates, instance groups, queued resources.
func (c *Cloud) Left() int {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return len(c.policies) + len(c.templates) + len(c.groups) + len(c.queued)
}

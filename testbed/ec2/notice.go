package ec2

import (
	"fmt"
	"time"
)

const spotReclaimed = "Server.SpotInstanceTermination"

// SpotNotice announces the end of a spot instance, and ends it when the lead time is over; 0 is Config.Lead.
func (c *Cloud) SpotNotice(id string, lead time.Duration) error {
	return c.with(id, func(in *instance) {
		dur(&lead, c.cfg.Lead)
		in.notice = time.Now().Add(lead)
		c.Later(lead, func() { c.end(in, spotReclaimed, "Spot instance termination", "Server.SpotInstanceTermination") })
	})
}

// Kill ends an instance at once and unannounced, as when its host breaks: its processes get SIGKILL.
func (c *Cloud) Kill(id string) error {
	return c.with(id, func(in *instance) {
		code := "Server.InternalError"
		if in.launch.market == spot {
			code = spotReclaimed
		}
		c.endWithin(in, 0, code, "The instance's host failed", "")
	})
}

// with does fn to an instance that is alive.
func (c *Cloud) with(id string, fn func(*instance)) error {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	in := c.instances[id]
	if in == nil || !in.alive() || c.Closed() {
		return fmt.Errorf("there is no live instance %s", id)
	}
	fn(in)
	return nil
}

// Instance is what a test may know of an instance.
type Instance struct {
	ID, Type, Zone, Market string
	State                  string // as it really is, not as a listing shows it
	Reason                 string // the code of its end: "Client.UserInitiatedShutdown"
	Addr                   string
	Dir                    string // of its processes: console.log is there
	Token                  string // the client token of its launch
	Group                  string // placement group
	Tags                   map[string]string
	UserData               string
	Launched, Ended        time.Time
	Notice                 time.Time // its announced end
}

// Instances returns all instances that the cloud still shows, oldest first.
func (c *Cloud) Instances() []Instance {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	var out []Instance
	for _, in := range c.order {
		l := in.launch
		i := Instance{ID: in.id, Type: l.typ.Name, Zone: l.zone, Market: l.market, State: in.state(), Reason: in.code, Addr: in.addr, Token: l.token, Tags: clone(in.tags),
			UserData: string(l.userData), Launched: in.launched, Notice: in.notice}
		if l.group != nil {
			i.Group = l.group.name
		}
		if in.machine != nil {
			i.Dir = in.machine.Dir()
		}
		if i.State == terminated {
			i.Ended = in.history[len(in.history)-1].at
		}
		out = append(out, i)
	}
	return out
}

// Live counts the instances that are paid for: pending or running.
func (c *Cloud) Live() int {
	n := 0
	for _, in := range c.Instances() {
		if in.State == pending || in.State == running {
			n++
		}
	}
	return n
}

package health

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/heartbeat"
	"fsub/topology"
)

// How ports that go down together are laid to a rail.
//
// In a rail-optimised network port k of each node of a scalable unit goes to leaf switch k. A bad leaf takes one port of
// many nodes, and no set of nodes: it is no switch of Slurm's topology. What tells of it are the nodes' health checks.
// Ports of one name that went down within half an hour on nodes below one switch, in one block or at the site, are those
// of a bad rail if after the first of them so many more go down by chance less than once in a million. Chance is how many
// ports of other nodes went down in that time but one, and that a port fails by itself once in six weeks at least. Gangs are
// kept off the nodes whose port is down, by a breaker, and none of these is broken by itself. Where most of the nodes
// have lost other ports too, it is not one rail but all of them.

// RuleRail lays ports that are down to a rail that they share.
const RuleRail = "bad-rail"

const (
	codeDown   Code = "check-link" // what a health check finds of a port that is not active
	portFails       = .0005        // how often a port fails by itself within half an hour, at least
	railChance      = 1e-6         // that so many more fail by themselves when one has
	allPorts        = "all"        // stands for a rail where other ports of the nodes are down too
	railOver        = time.Hour    // after its ports are back gangs try again
)

// Port is a port of a node that is down.
type Port struct {
	Name  string    `json:"name"`           // as NCCL names it: mlx5_3:1
	Since time.Time `json:"since"`          // when that was found
	Rail  string    `json:"rail,omitempty"` // the breaker of the rail that it is laid to
}

// railBreaker names the breaker of a rail: part:SITE/SWITCH:PORT, or part:SITE/PORT if it is one of all nodes of the site.
func railBreaker(site federation.SiteName, part, port string) string {
	if part != "" {
		port = part + ":" + port
	}
	return PartBreaker(site, port)
}

// ports takes in which ports of a node its health check finds down, and says whether they are those of a rail.
func (fb *Fabric) ports(id federation.NodeID, checks []Check, now time.Time) (found []Finding) {
	n := fb.nodes.all[id]
	isPort := func(c Check) bool { return c.Device != "" && c.Code == codeDown }
	if r := fb.rail; r == nil || r.Act == ActOff || !slices.ContainsFunc(checks, isPort) && (n == nil || len(n.Down) == 0) {
		return nil
	}
	n = fb.nodes.of(id)
	was, fresh := n.Down, []string(nil)
	var down []Port
	for _, c := range checks {
		is := func(p Port) bool { return p.Name == c.Device }
		if !isPort(c) || slices.ContainsFunc(down, is) {
			continue
		}
		if i := slices.IndexFunc(was, is); i >= 0 {
			down = append(down, was[i])
		} else {
			down, fresh = append(down, Port{Name: c.Device, Since: now}), append(fresh, c.Device)
		}
	}
	slices.SortFunc(down, func(a, b Port) int { return strings.Compare(a.Name, b.Name) })
	if slices.Equal(was, down) {
		return nil
	}
	fb.setDown(n, down)
	for _, p := range was {
		if !slices.Contains(down, p) {
			fb.back(id.Site, p.Rail, now)
		}
	}
	for _, port := range fresh {
		if !fb.joins(n, port, now) {
			found = append(found, fb.judgeRail(n, port, now)...)
		}
	}
	return found
}

// setDown replaces what is known of a node's ports.
func (fb *Fabric) setDown(n *NodeState, down []Port) {
	n.Down = down
	s := fb.nodes.site(n.Node.Site)
	if delete(s.down, n.Node.Name); len(down) > 0 {
		s.down[n.Node.Name] = n
	}
	fb.touch(n.Node)
}

// units are the parts above a node of which a rail may be, the smallest first; the last one is the whole site.
func (fb *Fabric) units(id federation.NodeID) []topology.Unit {
	is := fb.look(id)
	return append(slices.Clone(is.Above), topology.Unit{Nodes: is.Site})
}

// joins lays a port to a rail that is known to be bad, if there is one above its node.
func (fb *Fabric) joins(n *NodeState, port string, now time.Time) bool {
	for _, u := range fb.units(n.Node) {
		for _, rail := range []string{port, allPorts} {
			name := railBreaker(n.Node.Site, u.Name, rail)
			if !fb.isOpen(name, now) {
				continue
			}
			i := slices.IndexFunc(n.Down, func(p Port) bool { return p.Name == port })
			n.Down[i].Rail, fb.changed = name, true
			k := fb.breakers[name]
			k.Why, k.Until = fb.weighRail(n.Node.Site, u, rail, now, func(p Port) bool { return p.Rail == name }).why(), now.Add(fb.rail.For)
			return true
		}
	}
	return false
}

// fallen is what speaks against a rail.
type fallen struct {
	site       federation.SiteName
	part, port string
	nodes      []string // below the part whose port is down, in order
	of         int      // nodes below it
	more       int      // of the nodes have lost other ports, too
	elsewhere  int      // ports of other nodes that went down in that time
	since      time.Time
	chance     float64 // that of one port so many others go down with it by themselves
}

// fresh reports whether a port went down just now, and was not laid to a rail: one whose breaker an operator has closed counts no more.
func (fb *Fabric) fresh(p Port, now time.Time) bool {
	return p.Rail == "" && now.Sub(p.Since) <= fb.rail.Within
}

// weighRail counts the nodes below a part of which mine says that their port is down with the rail, and how likely chance makes so many. Nodes that are drained or
// down do not count, and those whose port is laid to another rail neither.
func (fb *Fabric) weighRail(site federation.SiteName, u topology.Unit, port string, now time.Time, mine func(Port) bool) fallen {
	w := fallen{site: site, part: u.Name, port: port, of: u.Nodes}
	devices, size := map[string]bool{}, u.Nodes
	for name, n := range fb.nodes.site(site).down {
		is := fb.look(n.Node)
		if size = max(size, is.Site); is.Out {
			continue
		}
		within, here, others := isBelow(is, u), false, 0
		for _, p := range n.Down {
			devices[p.Name] = true
			switch {
			case within && mine(p):
				if here = true; w.since.IsZero() || p.Since.Before(w.since) {
					w.since = p.Since
				}
			case fb.fresh(p, now):
				others++
			case within && p.Name == port && p.Rail != "" && fb.isOpen(p.Rail, now):
				w.of--
			}
		}
		switch {
		case !here:
			w.elsewhere += others
		case others > 0:
			w.more++
			fallthrough
		default:
			w.nodes = append(w.nodes, name)
		}
	}
	slices.Sort(w.nodes)
	here := len(w.nodes)
	usual := min(max(portFails, float64(w.elsewhere-1)/float64(max(len(devices)*(size-here), 1))), .5)
	w.chance = heartbeat.Tail(max(w.of, here)-1, here-1, usual)
	return w
}

// isBelow reports whether a node is below a part. All are below the one without a name, the site.
func isBelow(is Standing, u topology.Unit) bool {
	return u.Name == "" || slices.ContainsFunc(is.Above, func(p topology.Unit) bool { return p.Name == u.Name })
}

// judgeRail looks for a rail to blame after a port has gone down. Of a part and one within it that explains nearly as much it is the smaller one.
func (fb *Fabric) judgeRail(n *NodeState, port string, now time.Time) []Finding {
	site, r := n.Node.Site, fb.rail
	var best *fallen
	var of topology.Unit
	units := fb.units(n.Node)
	for _, u := range units {
		w := fb.weighRail(site, u, port, now, func(p Port) bool { return p.Name == port && fb.fresh(p, now) })
		if len(w.nodes) >= r.Jobs && (best == nil || w.chance < best.chance/partWithin) {
			best, of = &w, u
		}
	}
	if best == nil || best.chance*float64(len(units)) > railChance {
		return nil
	}
	if 2*best.more > len(best.nodes) {
		if of.Name == "" {
			return nil // nothing tells these nodes from others
		}
		best.port = allPorts
	}
	name := railBreaker(site, of.Name, best.port)
	f := Finding{At: now, Rule: r.Name, Act: r.Act, Pool: string(site), Why: best.why(), Node: federation.NodeID{Site: site, Name: strings.TrimPrefix(name, PartBreaker(site, ""))}}
	k := fb.breakers[name]
	if k == nil {
		k = &Breaker{Name: name, Drains: map[string][]drains{}}
		fb.breakers[name] = k
	}
	k.Rail, fb.changed = true, true
	fb.lay(site, of, best.port, name, now)
	if r.Act == ActNotify {
		return []Finding{f}
	}
	k.Open, k.Until = now, now.Add(r.For)
	k.Why = fb.weighRail(site, of, best.port, now, func(p Port) bool { return p.Rail == name }).why()
	f.Why, f.Until, f.Trips = k.Why, k.Until, true
	return []Finding{f}
}

// lay lays the ports that are down to a rail, and those that were laid to rails within its part: the breakers of these close.
func (fb *Fabric) lay(site federation.SiteName, u topology.Unit, port, name string, now time.Time) {
	smaller := map[string]bool{}
	for _, n := range fb.nodes.site(site).down {
		if !isBelow(fb.look(n.Node), u) {
			continue
		}
		n.Down = slices.Clone(n.Down)
		for i := range n.Down {
			p := &n.Down[i]
			within := p.Rail != "" && fb.isOpen(p.Rail, now)
			if p.Name != port && port != allPorts || !within && !fb.fresh(*p, now) {
				continue
			}
			if within {
				smaller[p.Rail] = true
			}
			p.Rail = name
			for i := range n.Fails {
				if f := &n.Fails[i]; f.Device == p.Name {
					f.Rail = name
				}
			}
			fb.touch(n.Node)
		}
	}
	delete(smaller, name)
	for rail := range smaller {
		fb.breakers[rail].close()
	}
}

// laid is the rail that a port of a node is laid to now, by its breaker; "": none.
func (fb *Fabric) laid(id federation.NodeID, port string, now time.Time) string {
	if n := fb.nodes.all[id]; n != nil && port != "" {
		for _, p := range n.Down {
			if p.Name == port && fb.isOpen(p.Rail, now) {
				return p.Rail
			}
		}
	}
	return ""
}

func (w fallen) why() string {
	where, what := "below "+w.part, "port "+w.port
	if w.part == "" {
		where = "of " + string(w.site)
	}
	if w.port == allPorts {
		what = "several ports"
	}
	names := strings.Join(w.nodes[:min(len(w.nodes), 3)], " ")
	if len(w.nodes) > 3 {
		names += " ..."
	}
	verb := "is"
	if w.port == allPorts {
		verb = "are"
	}
	return fmt.Sprintf("%s %s down on %d of %d nodes %s (%s) since %s, of other nodes %d in that time; chance makes that 1 time in %.0f", what, verb, len(w.nodes), max(w.of, len(w.nodes)), where, names,
		w.since.UTC().Format(time.RFC3339), w.elsewhere, math.Exp(min(-math.Log(w.chance), 20)))
}

// BadRail is the rail for which gangs are kept off a node now, since its port is down: SWITCH:PORT; "": there is none.
func (fb *Fabric) BadRail(id federation.NodeID, now time.Time) string {
	if n := fb.nodes.all[id]; n != nil {
		for _, p := range n.Down {
			if fb.isOpen(p.Rail, now) {
				return strings.TrimPrefix(p.Rail, PartBreaker(id.Site, ""))
			}
		}
	}
	return ""
}

// PortsDown reports whether ports of nodes of a site are down.
func (fb *Fabric) PortsDown(site federation.SiteName) bool {
	s := fb.nodes.sites[site]
	return s != nil && len(s.down) > 0
}

// downWith is how many nodes have ports down that are laid to a rail.
func (fb *Fabric) downWith(site federation.SiteName, rail string) (nodes int) {
	for _, n := range fb.nodes.site(site).down {
		if slices.ContainsFunc(n.Down, func(p Port) bool { return p.Rail == rail }) {
			nodes++
		}
	}
	return nodes
}

// back takes in that a port of a rail is active again. When so few are left that they made no bad rail gangs try again soon.
func (fb *Fabric) back(site federation.SiteName, rail string, now time.Time) {
	if soon := now.Add(railOver); fb.isOpen(rail, now) && soon.Before(fb.breakers[rail].Until) && fb.downWith(site, rail) < fb.rail.Jobs {
		fb.breakers[rail].Until, fb.changed = soon, true
	}
}

// lasts has gangs kept off a rail for longer, while its ports are down.
func (fb *Fabric) lasts(k *Breaker, site federation.SiteName, now time.Time) bool {
	if fb.rail == nil || fb.rail.Act != ActSuspect || fb.downWith(site, k.Name) < fb.rail.Jobs {
		return false
	}
	k.Until, fb.changed = now.Add(fb.rail.For), true
	return true
}

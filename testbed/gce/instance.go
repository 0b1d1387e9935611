package gce

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/testbed/machines"
)

// machine is a VM: an instance of Compute Engine, or a host of a TPU node. The cloud's lock guards it.
type machine struct {
	name, zone string
	typ        *Type
	market     string // "on-demand", "spot", "flex", "reserved"
	props      doc    // instanceProperties as asked for; nil of a TPU's host
	group      *group // nil: none
	node       *node  // nil: no host of a TPU
	worker     int    // of a TPU node
	kind       string // accelerator type of a TPU's host
	reserved   string // name of the reservation that it takes of
	status     string
	deleted    bool // it goes as soon as it has stopped
	why        string
	addr       string
	id         uint64
	made       time.Time
	gone       time.Time
	preempted  bool
	proc       *machines.Machine
	faults     machines.Boot     // how it comes up
	console    string            // of one that has ended, or runs nothing
	attributes map[string]string // its metadata
}

const (
	provisioning = "PROVISIONING"
	running      = "RUNNING"
	stopping     = "STOPPING"
	terminated   = "TERMINATED"
)

func (m *machine) alive() bool { return m.status == provisioning || m.status == running }

func (m *machine) pool() machines.Pool {
	p := machines.Pool{Zone: m.zone, Market: m.market, Type: m.kind}
	if m.typ != nil {
		p.Type = m.typ.Name
	}
	return p
}

// live are the pools of all machines that take capacity. The lock is held.
func (c *Cloud) live(yield func(machines.Pool) bool) {
	for _, m := range c.order {
		if m.alive() && m.reserved == "" && !yield(m.pool()) {
			return
		}
	}
}

func (c *Cloud) usedCPUs(market string) (n int) {
	for _, m := range c.order {
		if m.alive() && m.typ != nil && m.market == market {
			n += m.typ.CPUs
		}
	}
	return n
}

// bulkInsert makes instances, at least minCount or none.
func (c *Cloud) bulkInsert(r *request) (doc, error) {
	if o := c.again(r); o != nil {
		return c.show(o), nil
	}
	zone, props := r.vars["zone"], map[string]any{}
	if p, ok := r.body["instanceProperties"].(map[string]any); ok {
		props = p
	}
	var names []string
	if each, ok := r.body["perInstanceProperties"].(map[string]any); ok {
		for name := range each {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b)*boolInt(len(a) == len(b)) })
	count, _ := strconv.Atoi(str(r.body, "count"))
	least, _ := strconv.Atoi(str(r.body, "minCount"))
	if pattern := str(r.body, "namePattern"); len(names) == 0 && pattern != "" {
		for i := range count {
			names = append(names, strings.TrimRight(pattern, "#")+strconv.Itoa(i+1))
		}
	}
	if count < 1 || count > mostMachines || len(names) != count {
		return nil, invalid("resource.count", strconv.Itoa(count), "Must be from 1 to "+strconv.Itoa(mostMachines)+", with as many names.")
	}
	for _, name := range names {
		if err := checkName("resource.perInstanceProperties", name); err != nil {
			return nil, err
		}
	}
	if least == 0 {
		least = count
	}
	typ, market, err := c.checkProperties(props, zone)
	if err != nil {
		return nil, err
	}
	return c.begin("bulkInsert", c.url("zones", zone), r, func() []opError {
		return c.create(zone, names, least, typ, market, props, nil)
	}), nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// checkProperties checks what instances are asked to be.
func (c *Cloud) checkProperties(props doc, zone string) (*Type, string, error) {
	const at = "resource.instanceProperties."
	typ, err := c.typeOf(str(props, "machineType"), zone)
	if err != nil {
		return nil, "", err
	}
	market := map[string]string{"": "on-demand", "STANDARD": "on-demand", "SPOT": "spot", "FLEX_START": "flex", "RESERVATION_BOUND": "reserved"}[str(props, "scheduling", "provisioningModel")]
	reservation, key := str(props, "reservationAffinity", "consumeReservationType"), str(props, "reservationAffinity", "key")
	disks, _ := props["disks"].([]any)
	nets, _ := props["networkInterfaces"].([]any)
	switch {
	case typ.GPUs > 0 && str(props, "scheduling", "onHostMaintenance") != "TERMINATE":
		return nil, "", invalid(at+"scheduling.onHostMaintenance", "MIGRATE", "")
	case len(disks) == 0:
		return nil, "", invalid(at+"disks", "", "")
	case len(nets) == 0:
		return nil, "", invalid(at+"networkInterfaces", "", "")
	case reservation == "SPECIFIC_RESERVATION" && key != "compute.googleapis.com/reservation-name":
		return nil, "", invalid(at+"reservationAffinity.key", key, "")
	}
	for _, check := range []func() error{
		func() error { return checkDescription(at+"description", str(props, "description")) },
		func() error { return checkLabels(at+"labels", props["labels"]) },
		func() error { return checkMetadata(at+"metadata", props["metadata"]) },
		func() error { return checkScheduling(at+"scheduling", props) },
		func() error { return c.checkNetworks(at+"networkInterfaces", nets) },
		func() error { return c.checkImages(at+"disks", disks) },
		func() error { return c.checkPolicies(at+"resourcePolicies", list(props["resourcePolicies"])) },
	} {
		if err := check(); err != nil {
			return nil, "", err
		}
	}
	if reservation == "SPECIFIC_RESERVATION" {
		if err := c.checkReserved(at, zone, props); err != nil {
			return nil, "", err
		}
		market = "reserved"
	}
	return typ, market, nil
}

func list(v any) (out []string) {
	all, _ := v.([]any)
	for _, one := range all {
		s, _ := one.(string)
		out = append(out, s)
	}
	return out
}

// create makes machines, all or none. The lock is held.
func (c *Cloud) create(zone string, names []string, least int, typ *Type, market string, props doc, g *group) []opError {
	for _, name := range names {
		if c.machines[zone+"/"+name] != nil {
			return []opError{{"RESOURCE_ALREADY_EXISTS", "The resource 'projects/" + c.cfg.Project + "/zones/" + zone + "/instances/" + name + "' already exists"}}
		}
	}
	reserved := ""
	if market == "reserved" {
		reserved = reservationOf(props)
		if short := c.lacks(zone, reserved, typ.Name, len(names)); short != "" {
			return []opError{{"RESERVATION_CAPACITY_EXCEEDED", short}}
		}
	} else if short := c.short(machines.Pool{Type: typ.Name, Zone: zone, Market: market}, len(names), typ.CPUs, zone); short != nil {
		if least > 1 {
			short = append([]opError{{"VM_MIN_COUNT_NOT_REACHED", "Requested minimum count of " + strconv.Itoa(least) + " VMs could not be created."}}, short...)
		}
		return short
	}
	pool := machines.Pool{Type: typ.Name, Zone: zone, Market: market}
	die := int(math.Ceil(c.BootOf(pool).Die * float64(len(names))))
	for i, name := range names {
		m := c.add(name, zone, market)
		m.typ, m.props, m.group, m.reserved = typ, props, g, reserved
		if meta, ok := props["metadata"].(map[string]any); ok {
			items, _ := meta["items"].([]any)
			for _, item := range items {
				m.attributes[str(item.(doc), "key")] = str(item.(doc), "value")
			}
		}
		c.start(m, i >= len(names)-die)
	}
	return nil
}

// short says why a pool has not so many machines more; nil: it has.
func (c *Cloud) short(pool machines.Pool, n, cpus int, zone string) []opError {
	if limit, bounded := c.Quota(pool.Market); bounded && c.usedCPUs(pool.Market)+n*cpus > limit {
		return []opError{{"QUOTA_EXCEEDED", fmt.Sprintf("Quota 'CPUS' exceeded.  Limit: %d.0 in region %s.", limit, c.cfg.Region)}}
	}
	if c.InStock(pool, c.live) < n {
		return []opError{{"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", fmt.Sprintf("The zone 'projects/%s/zones/%s' does not have enough resources available to fulfill the request.  "+
			"'(resource type:compute)'.", c.cfg.Project, zone)}}
	}
	return nil
}

// lacks says why a reservation has not so many machines more; "": it has.
func (c *Cloud) lacks(zone, name, typ string, n int) string {
	r := c.reserved[zone+"/"+name]
	if r == nil || str(r, "specificReservation", "instanceProperties", "machineType") != typ {
		return "Specified reservation '" + name + "' does not exist or does not fit."
	}
	count, _ := strconv.Atoi(str(r, "specificReservation", "count"))
	for _, m := range c.order {
		if m.alive() && m.reserved == name && m.zone == zone {
			count--
		}
	}
	if n > count {
		return "Specified reservation '" + name + "' does not have available resources for the request."
	}
	return ""
}

// add makes a machine that is not started yet. The lock is held.
func (c *Cloud) add(name, zone, market string) *machine {
	c.seq++
	m := &machine{name: name, zone: zone, market: market, status: provisioning, addr: c.Address(c.seq), id: 4_000_000_000_000_000_000 + uint64(c.seq), made: time.Now(), attributes: map[string]string{}}
	c.machines[zone+"/"+name] = m
	c.order = append(c.order, m)
	return m
}

// start takes a new machine through its boot. The lock is held.
func (c *Cloud) start(m *machine, dies bool) {
	m.faults = c.BootOf(m.pool())
	m.console = m.faults.Console
	c.Later(c.cfg.Pending+m.faults.Delay, func() {
		switch {
		case m.status != provisioning:
		case dies:
			c.stop(m, 0, "Internal error on launch", terminated)
		default:
			m.status = running
			if c.cfg.Process && !m.faults.Never {
				c.boot(m)
			}
		}
	})
}

func (c *Cloud) boot(m *machine) {
	gpus := 0
	if m.typ != nil {
		gpus = m.typ.GPUs - m.faults.Broken
	}
	m.proc = c.Boot(machines.Spec{
		GPUs: gpus,
		ID:   m.zone + "." + m.name, Addr: m.addr, Host: m.name, UserData: []byte(m.attributes["startup-script"]), Metadata: c.metadata(m),
		Env:      func(at string) []string { return []string{"GCE_METADATA_HOST=" + at} },
		PowerOff: func(reboot bool) { c.powerOff(m, reboot) },
	}, func() { c.stop(m, 0, "Internal error on launch", terminated) })
}

// powerOff does what the machine's own shutdown command has ordered: an instance is stopped, and stays. The lock is held.
func (c *Cloud) powerOff(m *machine, reboot bool) {
	if !m.alive() {
		return
	}
	if reboot { // its startup script would run again; ours does not
		if m.proc != nil {
			c.Stop(m.proc, c.cfg.Grace, func() { m.proc = nil })
		}
		return
	}
	c.stop(m, c.cfg.Grace, "Instance was stopped by the guest", terminated)
}

// stop ends a machine's processes; then it is in the state, or, where that is "", gone. The lock is held.
func (c *Cloud) stop(m *machine, grace time.Duration, why, then string) {
	if m.status == stopping || m.status == terminated && then == terminated {
		return
	}
	m.status, m.why = stopping, why
	over := func() {
		if m.proc != nil {
			m.console, m.proc = m.proc.Console(), nil
		}
		if m.status = then; then == "" || m.deleted {
			c.forget(m)
		}
	}
	if m.proc == nil {
		c.Later(c.cfg.Pending, over)
		return
	}
	c.Stop(m.proc, grace, over)
}

// forget takes a machine that is gone out of all listings.
func (c *Cloud) forget(m *machine) {
	m.gone = time.Now()
	delete(c.machines, m.zone+"/"+m.name)
	c.order = slices.DeleteFunc(c.order, func(o *machine) bool { return o == m })
	c.ended = append(c.ended, m)
}

func (c *Cloud) deleteInstance(r *request) (doc, error) {
	m := c.machines[r.vars["zone"]+"/"+r.vars["instance"]]
	if m == nil || m.node != nil {
		return nil, missing("projects/"+c.cfg.Project+"/zones/"+r.vars["zone"]+"/instances", r.vars["instance"])
	}
	if m.group != nil {
		return nil, &refusal{http.StatusBadRequest, "invalid", "The stand-in deletes machines of an instance group by the group: alone it would make them anew"}
	}
	c.remove(m, "deleted")
	return c.begin("delete", c.url("zones", m.zone, "instances", m.name), r, nil), nil
}

// remove deletes a machine. The lock is held.
func (c *Cloud) remove(m *machine, why string) {
	m.deleted = true
	if m.status == terminated {
		m.status = "" // its processes are gone
	}
	c.stop(m, c.cfg.Grace, why, "")
}

func (c *Cloud) instances(zone string) (all []doc) {
	for _, m := range c.order {
		if m.node == nil && (zone == "" || m.zone == zone) {
			all = append(all, c.describe(m))
		}
	}
	return all
}

func (c *Cloud) aggregatedInstances(r *request) (doc, error) {
	return c.scoped(r, "compute#instanceAggregatedList", "instances", c.instances(""))
}

func (c *Cloud) listInstances(r *request) (doc, error) {
	all, err := r.chosen(c.instances(r.vars["zone"]))
	if err != nil {
		return nil, err
	}
	all, next, err := r.page(all)
	d := doc{"kind": "compute#instanceList", "id": "projects/" + c.cfg.Project + "/zones/" + r.vars["zone"] + "/instances", "items": all}
	if next != "" {
		d["nextPageToken"] = next
	}
	return d, err
}

// getSerialPort shows what an instance that is there has printed.
func (c *Cloud) getSerialPort(r *request) (doc, error) {
	m := c.machines[r.vars["zone"]+"/"+r.vars["instance"]]
	if m == nil || m.node != nil {
		return nil, missing("instances", r.vars["instance"])
	}
	text := m.console
	if m.proc != nil {
		text = m.proc.Console()
	}
	return doc{"kind": "compute#serialPortOutput", "contents": text, "start": "0", "next": strconv.Itoa(len(text)), "selfLink": c.url("zones", m.zone, "instances", m.name, "serialPort")}, nil
}

// describe is an instance as Google shows it.
func (c *Cloud) describe(m *machine) doc {
	d := doc{"kind": "compute#instance", "id": strconv.FormatUint(m.id, 10), "name": m.name, "zone": c.url("zones", m.zone), "status": m.status, "creationTimestamp": m.made.Format(time.RFC3339),
		"machineType": c.url("zones", m.zone, "machineTypes", m.typ.Name), "selfLink": c.url("zones", m.zone, "instances", m.name)}
	for _, field := range []string{"description", "labels", "metadata", "scheduling", "resourcePolicies", "tags"} {
		if v := m.props[field]; v != nil {
			d[field] = v
		}
	}
	if m.status != provisioning {
		d["networkInterfaces"] = []any{doc{"kind": "compute#networkInterface", "name": "nic0", "networkIP": m.addr, "network": c.url("global", "networks", "default")}}
	}
	if m.why != "" {
		d["statusMessage"] = m.why
	}
	if m.status == running && len(list(m.props["resourcePolicies"])) > 0 {
		d["resourceStatus"] = doc{"physicalHost": fmt.Sprintf("/b1/s%d/h%d", m.id%2, m.id), "physicalHostTopology": doc{"cluster": m.zone + "-c1", "block": "b1", "subblock": fmt.Sprintf("s%d", m.id%2), "host": fmt.Sprintf("h%d", m.id)}}
	}
	return d
}

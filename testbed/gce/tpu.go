package gce

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/testbed/machines"
	"fsub/topology/torus"
)

// node is a TPU node: the hosts of one slice.
type node struct {
	name, zone string
	spec       doc
	state      string
	hosts      []*machine
	queued     *queuedTPU
	made       time.Time
}

// queuedTPU is a queued resource: nodes that are made when there are enough chips for all of them.
type queuedTPU struct {
	name, zone string
	doc        doc
	state, by  string
	code       int
	text       string
	kind       string // accelerator type
	perNode    int    // hosts
	count      int    // nodes
	market     string
	until      time.Time
	made       time.Time
	nodes      []*node
}

func (c *Cloud) full(zone, kind, name string) string {
	return "projects/" + c.cfg.Project + "/locations/" + zone + "/" + kind + "/" + name
}

// tpuOperation is an operation. What it has begun shows its own state.
func (c *Cloud) tpuOperation(zone string, done bool) doc {
	return doc{"name": c.full(zone, "operations", "operation-"+machines.RandomHex(16)), "done": done}
}

func (c *Cloud) tpuDone(zone string) doc { return c.tpuOperation(zone, false) }

// tpuTypes are the accelerator types of every zone: the slices of the generations that the API has, up to 256 chips.
func tpuTypes() (all []string) {
	for _, name := range []string{"v2", "v3", "v4", "v5e", "v5p", "v6e"} {
		g, _ := torus.Lookup(name)
		for _, s := range g.Slices() {
			if typ := g.AcceleratorType(s); s.Chips() <= 256 && !slices.Contains(all, typ) {
				all = append(all, typ)
			}
		}
	}
	return all
}

func (c *Cloud) listAcceleratorTypes(r *request) (doc, error) {
	var list []any
	for _, t := range tpuTypes() {
		list = append(list, doc{"name": c.full(r.vars["locationsId"], "acceleratorTypes", t), "type": t})
	}
	return doc{"acceleratorTypes": list}, nil
}

func (c *Cloud) createQueued(r *request) (doc, error) {
	zone, name := r.vars["locationsId"], r.query.Get("queuedResourceId")
	id := r.query.Get("requestId")
	if first := c.requests["tpu "+id]; first != nil && id != "" {
		return c.tpuOperation(zone, time.Since(first.inserted) > max(c.cfg.Pending, c.cfg.Lag)), nil
	}
	if c.queued[zone+"/"+name] != nil {
		return nil, &refusal{http.StatusConflict, "alreadyExists", "Resource '" + c.full(zone, "queuedResources", name) + "' already exists"}
	}
	q, err := c.readQueued(r.body, zone, name)
	if err != nil {
		return nil, err
	}
	c.requests["tpu "+id] = &operation{inserted: time.Now()}
	c.queued[zone+"/"+name] = q
	q.state, q.made = "CREATING", time.Now()
	c.Later(c.cfg.Pending, func() {
		if q.state == "CREATING" {
			q.state = "ACCEPTED"
			c.provision(q)
		}
	})
	return c.tpuDone(zone), nil
}

// readQueued checks what is asked for.
func (c *Cloud) readQueued(body doc, zone, name string) (*queuedTPU, error) {
	bad := func(format string, args ...any) error {
		return &refusal{http.StatusBadRequest, "invalid", fmt.Sprintf(format, args...)}
	}
	tpu, _ := body["tpu"].(map[string]any)
	specs, _ := tpu["nodeSpec"].([]any)
	if len(specs) != 1 || name == "" {
		return nil, bad("Exactly one node spec and the queued resource's ID are required")
	}
	spec := specs[0].(doc)
	wants, _ := spec["node"].(map[string]any)
	q := &queuedTPU{name: name, zone: zone, doc: body, count: 1, market: "on-demand", by: "SERVICE"}
	if multi, ok := spec["multiNodeParams"].(map[string]any); ok {
		n, _ := multi["nodeCount"].(float64)
		if q.count = int(n); q.count < 2 || str(spec, "nodeId") != "" || str(multi, "nodeIdPrefix") == "" {
			return nil, bad("multiNodeParams want a count of two or more and a prefix, and no nodeId")
		}
	} else if str(spec, "nodeId") == "" {
		return nil, bad("nodeId is missing")
	}
	g, shape, err := torus.OfType(str(wants, "acceleratorType"))
	if typ, topology := str(wants, "acceleratorConfig", "type"), str(wants, "acceleratorConfig", "topology"); typ != "" {
		var ok bool
		if g, ok = torus.Lookup(strings.ReplaceAll(strings.ToLower(typ), "_", "")); !ok {
			return nil, bad("Invalid accelerator type %q", typ)
		}
		if shape, err = torus.Parse(topology); err == nil {
			shape, err = g.Check(shape)
		}
	}
	if err != nil {
		return nil, bad("Invalid accelerator: %v", err)
	}
	q.kind = g.AcceleratorType(shape)
	q.perNode, _ = g.Hosts(shape)
	if !slices.Contains(tpuTypes(), q.kind) {
		return nil, &refusal{http.StatusNotFound, "notFound", "Accelerator type " + q.kind + " was not found in zone " + zone}
	}
	if err := c.checkSlice(body, name, g.Name, wants); err != nil {
		return nil, err
	}
	switch {
	case body["spot"] != nil:
		q.market = "spot"
	case str(body, "provisioningModel") == "FLEX_START":
		q.market = "flex"
	case str(body, "reservationName") != "":
		q.market = "reserved"
	}
	if d, err := time.ParseDuration(str(body, "queueingPolicy", "validUntilDuration")); err == nil {
		q.until = time.Now().Add(d)
	}
	return q, nil
}

// checkSlice refuses what the schema lets through and Google does not take.
func (c *Cloud) checkSlice(body doc, name, generation string, wants doc) error {
	if err := checkName("queuedResourceId", name); err != nil {
		return err
	}
	if err := checkLabels("node.labels", wants["labels"]); err != nil {
		return err
	}
	if err := checkDescription("node.description", str(wants, "description")); err != nil {
		return err
	}
	version, of := str(wants, "runtimeVersion"), generations[str(wants, "runtimeVersion")]
	policy, _ := body["queueingPolicy"].(map[string]any)
	guaranteed, _ := body["guaranteed"].(map[string]any)
	reserved, _ := guaranteed["reserved"].(bool)
	run, flex := str(body, "runDuration", "maxRunDuration"), str(body, "provisioningModel") == "FLEX_START"
	lasts, err := time.ParseDuration(run)
	switch {
	case of == nil:
		return &refusal{http.StatusNotFound, "notFound", "Runtime version " + version + " was not found"}
	case !slices.Contains(of, generation):
		return invalid("node.runtimeVersion", version, "It is not supported by "+generation+".")
	case str(wants, "acceleratorType") != "" && wants["acceleratorConfig"] != nil:
		return invalid("node.acceleratorConfig", str(wants, "acceleratorType"), "acceleratorType and acceleratorConfig exclude each other.")
	case body["spot"] != nil && guaranteed != nil, flex && (body["spot"] != nil || guaranteed != nil):
		return invalid("queuedResource", "", "spot, guaranteed and a provisioning model exclude each other.")
	case len(policy) > 1:
		return invalid("queueingPolicy", "", "At most one of its fields can be set.")
	case reserved && str(body, "reservationName") == "":
		return invalid("reservationName", "", "A reserved resource wants the name of the reservation.")
	case flex && run == "", run != "" && (err != nil || lasts < 10*time.Minute || lasts > 7*24*time.Hour):
		return invalid("runDuration.maxRunDuration", run, "Must be from 10 minutes to 7 days.")
	}
	if network := base(str(wants, "networkConfig", "network")); network != "" && c.fixed["networks.get/"+network] == nil {
		return &refusal{http.StatusNotFound, "notFound", "Network " + network + " was not found"}
	}
	return nil
}

// provision makes the nodes of a queued resource when there are chips for all. The lock is held.
func (c *Cloud) provision(q *queuedTPU) {
	c.Later(c.cfg.Queue, func() {
		if q.state != "ACCEPTED" && q.state != "WAITING_FOR_RESOURCES" {
			return
		}
		pool, hosts := machines.Pool{Type: q.kind, Zone: q.zone, Market: q.market}, q.count*q.perNode
		if limit, bounded := c.Quota(q.market); bounded && hosts > limit {
			q.state, q.code, q.text = "FAILED", 8, "Quota limit 'TPUSPerProjectPerZone' has been exceeded. Limit: "+strconv.Itoa(limit)+" in zone "+q.zone+"."
			return
		}
		if c.InStock(pool, c.live) < hosts {
			if q.state = "WAITING_FOR_RESOURCES"; !q.until.IsZero() && time.Now().After(q.until) {
				q.state, q.code, q.text = "FAILED", 8, "There is no more capacity in the zone \""+q.zone+"\"; you can try in another zone."
				return
			}
			c.provision(q)
			return
		}
		q.state = "PROVISIONING"
		spec := q.doc["tpu"].(doc)["nodeSpec"].([]any)[0].(doc)
		for i := range q.count {
			name := str(spec, "nodeId")
			if q.count > 1 {
				name = str(spec, "multiNodeParams", "nodeIdPrefix") + "-" + strconv.Itoa(i)
			}
			c.makeNode(q, name, spec["node"].(doc))
		}
		c.Later(c.cfg.Pending, func() {
			if q.state == "PROVISIONING" {
				q.state = "ACTIVE"
			}
		})
	})
}

func (c *Cloud) makeNode(q *queuedTPU, name string, spec doc) {
	n := &node{name: name, zone: q.zone, spec: spec, state: "CREATING", queued: q, made: time.Now()}
	c.nodes[q.zone+"/"+name] = n
	q.nodes = append(q.nodes, n)
	for w := range q.perNode {
		m := c.add(fmt.Sprintf("%s-w%d", name, w), q.zone, q.market)
		m.node, m.worker, m.kind = n, w, q.kind
		meta, _ := spec["metadata"].(map[string]any)
		for k, v := range meta {
			m.attributes[k], _ = v.(string)
		}
		n.hosts = append(n.hosts, m)
		c.start(m, false)
	}
	c.Later(c.cfg.Pending, func() {
		if n.state == "CREATING" {
			n.state = "READY"
		}
	})
}

func (c *Cloud) showQueued(q *queuedTPU) doc {
	state := doc{"state": q.state, "stateInitiator": q.by}
	if q.state == "FAILED" {
		state["failedData"] = doc{"error": doc{"code": q.code, "message": q.text}}
	}
	d := doc{"name": c.full(q.zone, "queuedResources", q.name), "state": state}
	for k, v := range q.doc {
		d[k] = v
	}
	return d
}

func (c *Cloud) getQueued(r *request) (doc, error) {
	q := c.queued[r.vars["locationsId"]+"/"+r.vars["queuedResourcesId"]]
	if q == nil || time.Since(q.made) < c.cfg.Lag {
		return nil, missing("queuedResources", r.vars["queuedResourcesId"])
	}
	return c.showQueued(q), nil
}

// inZone are the resources of a map whose keys begin with the request's zone.
func inZone[T any](r *request, all map[string]T, show func(T) doc) []any {
	here := map[string]T{}
	for k, v := range all {
		if strings.HasPrefix(k, r.vars["locationsId"]+"/") {
			here[k] = v
		}
	}
	list := []any{}
	for _, d := range sorted(here, show) {
		list = append(list, d)
	}
	return list
}

func (c *Cloud) listQueued(r *request) (doc, error) {
	page, next, err := r.page(inZone(r, c.queued, c.showQueued))
	return doc{"queuedResources": page, "nextPageToken": next}, err
}

func (c *Cloud) deleteQueued(r *request) (doc, error) {
	key := r.vars["locationsId"] + "/" + r.vars["queuedResourcesId"]
	q := c.queued[key]
	if q == nil {
		return nil, missing("queuedResources", r.vars["queuedResourcesId"])
	}
	if len(q.nodes) > 0 && r.query.Get("force") != "true" {
		return nil, &refusal{http.StatusBadRequest, "invalid", "The queued resource has nodes: delete them first, or use force"}
	}
	q.state, q.by = "DELETING", "USER"
	for _, n := range slices.Clone(q.nodes) {
		c.dropNode(n)
	}
	delete(c.queued, key)
	return c.tpuDone(q.zone), nil
}

func (c *Cloud) showNode(n *node) doc {
	d := doc{"name": c.full(n.zone, "nodes", n.name), "state": n.state, "health": "HEALTHY", "createTime": n.made.Format(time.RFC3339), "apiVersion": "V2_ALPHA1",
		"queuedResource": c.full(n.zone, "queuedResources", n.queued.name), "multisliceNode": n.queued.count > 1}
	for k, v := range n.spec {
		d[k] = v
	}
	d["acceleratorType"] = n.queued.kind
	if n.state == "READY" {
		var ends []any
		for _, m := range n.hosts {
			ends = append(ends, doc{"ipAddress": m.addr, "port": 8470})
		}
		d["networkEndpoints"] = ends
	}
	return d
}

func (c *Cloud) listNodes(r *request) (doc, error) {
	page, next, err := r.page(inZone(r, c.nodes, c.showNode))
	return doc{"nodes": page, "nextPageToken": next}, err
}

func (c *Cloud) deleteNode(r *request) (doc, error) {
	n := c.nodes[r.vars["locationsId"]+"/"+r.vars["nodesId"]]
	if n == nil {
		return nil, missing("nodes", r.vars["nodesId"])
	}
	c.dropNode(n)
	return c.tpuDone(n.zone), nil
}

// dropNode deletes a node; a queued resource without nodes is suspended. The lock is held.
func (c *Cloud) dropNode(n *node) {
	if n.state == "DELETING" {
		return
	}
	n.state = "DELETING"
	q := n.queued
	q.nodes = slices.DeleteFunc(q.nodes, func(o *node) bool { return o == n })
	if len(q.nodes) == 0 && q.state != "DELETING" {
		q.state, q.by = "SUSPENDED", "USER"
	}
	for _, m := range n.hosts {
		c.remove(m, "deleted")
	}
	c.Later(c.cfg.Pending, func() { delete(c.nodes, n.zone+"/"+n.name) })
}

// preemptNode takes a whole slice back: it stays as a node that is PREEMPTED until it is deleted. The lock is held.
func (c *Cloud) preemptNode(n *node) {
	if n.state != "READY" && n.state != "CREATING" {
		return
	}
	n.state = "PREEMPTED"
	if n.queued.state == "ACTIVE" {
		n.queued.state, n.queued.by = "SUSPENDED", "SERVICE"
	}
	for _, m := range n.hosts {
		c.remove(m, "preempted")
	}
}

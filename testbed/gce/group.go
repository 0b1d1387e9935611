package gce

import (
	"net/http"
	"strconv"
	"time"
)

// group is a managed instance group, with its resize requests.
type group struct {
	doc        doc
	zone, name string
	requests   map[string]*resize
}

// resize is a request of machines that may wait for them.
type resize struct {
	doc   doc
	names []string
	state string
	code  string // of a failure
	text  string
}

// keep stores a resource that was inserted, with what Google adds to it.
func (c *Cloud) keep(into map[string]doc, kind string, r *request, where ...string) (doc, error) {
	name := str(r.body, "name")
	if into[name] != nil {
		return nil, exists(kind, name)
	}
	if err := checkNamed(r.body); err != nil {
		return nil, err
	}
	d := r.body
	d["kind"], d["id"], d["creationTimestamp"], d["selfLink"] = "compute#"+kind, "88", time.Now().Format(time.RFC3339), c.url(append(where, name)...)
	into[name] = d
	return c.begin("insert", c.url(append(where, name)...), r, nil), nil
}

// checkNamed checks the name and the description of a resource.
func checkNamed(d doc) error {
	if err := checkName("resource.name", str(d, "name")); err != nil {
		return err
	}
	return checkDescription("resource.description", str(d, "description"))
}

func (c *Cloud) insertPolicy(r *request) (doc, error) {
	out, err := c.keep(c.policies, "resourcePolicy", r, "regions", c.cfg.Region, "resourcePolicies")
	if err == nil {
		c.policies[str(r.body, "name")]["region"], c.policies[str(r.body, "name")]["status"] = c.url("regions", c.cfg.Region), "READY"
	}
	return out, err
}

func (c *Cloud) listed(r *request, kind string, all []doc) (doc, error) {
	items, err := r.chosen(all)
	return doc{"kind": kind, "id": "list", "items": items}, err
}

func same(d doc) doc { return d }

func (c *Cloud) listPolicies(r *request) (doc, error) {
	return c.listed(r, "compute#resourcePolicyList", sorted(c.policies, same))
}

func (c *Cloud) deletePolicy(r *request) (doc, error) {
	name := r.vars["resourcePolicy"]
	if c.policies[name] == nil {
		return nil, missing("resourcePolicies", name)
	}
	for _, m := range c.order {
		for _, p := range list(m.props["resourcePolicies"]) {
			if base(p) == name {
				return nil, inUse("resource policy", name)
			}
		}
	}
	for _, g := range c.groups {
		if base(str(g.doc, "resourcePolicies", "workloadPolicy")) == name {
			return nil, inUse("resource policy", name)
		}
	}
	delete(c.policies, name)
	return c.begin("delete", c.url("regions", c.cfg.Region, "resourcePolicies", name), r, nil), nil
}

func inUse(kind, name string) error {
	return &refusal{http.StatusBadRequest, "resourceInUseByAnotherResource", "The " + kind + " resource '" + name + "' is already being used"}
}

func (c *Cloud) insertTemplate(r *request) (doc, error) {
	props, _ := r.body["properties"].(map[string]any)
	if _, _, err := c.checkProperties(props, c.zoneWith(str(props, "machineType"))); err != nil {
		return nil, err
	}
	return c.keep(c.templates, "instanceTemplate", r, "global", "instanceTemplates")
}

// zoneWith is a zone that has a type: a template is of none.
func (c *Cloud) zoneWith(typ string) string {
	for _, z := range c.cfg.Zones {
		if _, err := c.typeOf(typ, z); err == nil {
			return z
		}
	}
	return c.cfg.Zones[0]
}

func (c *Cloud) listTemplates(r *request) (doc, error) {
	return c.listed(r, "compute#instanceTemplateList", sorted(c.templates, same))
}

func (c *Cloud) deleteTemplate(r *request) (doc, error) {
	name := r.vars["instanceTemplate"]
	if c.templates[name] == nil {
		return nil, missing("instanceTemplates", name)
	}
	for _, g := range c.groups {
		if base(str(g.doc, "instanceTemplate")) == name {
			return nil, inUse("instance template", name)
		}
	}
	delete(c.templates, name)
	return c.begin("delete", c.url("global", "instanceTemplates", name), r, nil), nil
}

func (c *Cloud) insertGroup(r *request) (doc, error) {
	zone, name := r.vars["zone"], str(r.body, "name")
	if c.groups[zone+"/"+name] != nil {
		return nil, exists("instanceGroupManagers", name)
	}
	if err := checkNamed(r.body); err != nil {
		return nil, err
	}
	if policy := str(r.body, "resourcePolicies", "workloadPolicy"); policy != "" && (base(policy) == policy || c.policies[base(policy)] == nil) {
		return nil, invalid("resource.resourcePolicies.workloadPolicy", policy, "Must be the URL of a resource policy.")
	}
	if c.templates[base(str(r.body, "instanceTemplate"))] == nil {
		return nil, missing("instanceTemplates", base(str(r.body, "instanceTemplate")))
	}
	if size, _ := r.body["targetSize"].(float64); size != 0 {
		return nil, &refusal{http.StatusNotImplemented, "notImplemented", "The stand-in grows instance groups by resize requests only"}
	}
	d := r.body
	d["kind"], d["zone"], d["id"], d["selfLink"] = "compute#instanceGroupManager", c.url("zones", zone), "99", c.url("zones", zone, "instanceGroupManagers", name)
	c.groups[zone+"/"+name] = &group{doc: d, zone: zone, name: name, requests: map[string]*resize{}}
	return c.begin("insert", c.url("zones", zone, "instanceGroupManagers", name), r, nil), nil
}

func (c *Cloud) aggregatedGroups(r *request) (doc, error) {
	return c.scoped(r, "compute#instanceGroupManagerAggregatedList", "instanceGroupManagers", sorted(c.groups, func(g *group) doc { return g.doc }))
}

func (c *Cloud) groupOf(r *request) (*group, error) {
	g := c.groups[r.vars["zone"]+"/"+r.vars["instanceGroupManager"]]
	if g == nil {
		return nil, missing("instanceGroupManagers", r.vars["instanceGroupManager"])
	}
	return g, nil
}

func (c *Cloud) deleteGroup(r *request) (doc, error) {
	g, err := c.groupOf(r)
	if err != nil {
		return nil, err
	}
	delete(c.groups, g.zone+"/"+g.name)
	for _, m := range c.machinesOf(g) {
		c.remove(m, "deleted")
	}
	for _, q := range g.requests {
		if q.state == "ACCEPTED" || q.state == "CREATING" {
			q.state = "CANCELLED"
		}
	}
	return c.begin("delete", c.url("zones", g.zone, "instanceGroupManagers", g.name), r, nil), nil
}

func (c *Cloud) machinesOf(g *group) (all []*machine) {
	for _, m := range c.order {
		if m.group == g {
			all = append(all, m)
		}
	}
	return all
}

func (c *Cloud) deleteGroupInstances(r *request) (doc, error) {
	g, err := c.groupOf(r)
	if err != nil {
		return nil, err
	}
	skip, _ := r.body["skipInstancesOnValidationError"].(bool)
	var found []*machine
	for _, path := range list(r.body["instances"]) {
		m := c.machines[g.zone+"/"+base(path)]
		if m != nil && m.group == g {
			found = append(found, m)
		} else if !skip {
			return nil, &refusal{http.StatusBadRequest, "invalid", "The instance '" + path + "' is not a member of " + g.name}
		}
	}
	for _, m := range found {
		c.remove(m, "deleted")
	}
	return c.begin("deleteInstances", c.url("zones", g.zone, "instanceGroupManagers", g.name), r, nil), nil
}

func (c *Cloud) insertResize(r *request) (doc, error) {
	g, err := c.groupOf(r)
	if err != nil {
		return nil, err
	}
	name := str(r.body, "name")
	if g.requests[name] != nil {
		return nil, exists("resizeRequests", name)
	}
	if err := checkNamed(r.body); err != nil {
		return nil, err
	}
	q := &resize{doc: r.body, state: "CREATING"}
	instances, _ := r.body["instances"].([]any)
	for _, i := range instances {
		q.names = append(q.names, str(i.(doc), "name"))
		if err := checkName("resource.instances", str(i.(doc), "name")); err != nil {
			return nil, err
		}
	}
	if n, _ := r.body["resizeBy"].(float64); n > 0 && len(q.names) == 0 {
		for i := range int(n) {
			q.names = append(q.names, str(g.doc, "baseInstanceName")+"-r"+strconv.Itoa(i))
		}
	}
	if seconds, _ := strconv.Atoi(str(r.body, "requestedRunDuration", "seconds")); len(q.names) == 0 || seconds < 600 || seconds > 7*24*3600 {
		return nil, &refusal{http.StatusBadRequest, "invalid", "Invalid value for field 'resource.requestedRunDuration': must be from 10 minutes to 7 days, of one machine at least"}
	}
	props, _ := c.templates[base(str(g.doc, "instanceTemplate"))]["properties"].(map[string]any)
	if run := str(props, "scheduling", "maxRunDuration", "seconds"); run != "" && run != str(r.body, "requestedRunDuration", "seconds") {
		return nil, invalid("resource.requestedRunDuration", str(r.body, "requestedRunDuration", "seconds"), "The template has a maxRunDuration of "+run+"s.")
	}
	g.requests[name] = q
	return c.begin("insert", c.url("zones", g.zone, "instanceGroupManagers", g.name, "resizeRequests", name), r, func() []opError {
		if q.state == "CREATING" {
			q.state = "ACCEPTED"
			c.serve(g, q)
		}
		return nil
	}), nil
}

// serve looks for machines for a resize request until there are enough, or it is taken back.
func (c *Cloud) serve(g *group, q *resize) {
	c.Later(c.cfg.Queue, func() {
		if q.state != "ACCEPTED" {
			return
		}
		props, _ := c.templates[base(str(g.doc, "instanceTemplate"))]["properties"].(map[string]any)
		typ, market, err := c.checkProperties(props, g.zone)
		if err != nil {
			q.state, q.code, q.text = "FAILED", "INVALID", err.Error()
			return
		}
		switch errs := c.create(g.zone, q.names, 1, typ, market, props, g); {
		case errs == nil:
			q.state, q.code, q.text = "SUCCEEDED", "", ""
		case errs[0].code == "QUOTA_EXCEEDED":
			q.state, q.code, q.text = "FAILED", errs[0].code, errs[0].text
		default: // it stays in the queue
			q.code, q.text = errs[0].code, errs[0].text
			c.serve(g, q)
		}
	})
}

func (c *Cloud) showResize(g *group, q *resize) doc {
	d := doc{"kind": "compute#instanceGroupManagerResizeRequest", "id": "55", "zone": c.url("zones", g.zone), "state": q.state}
	for k, v := range q.doc {
		d[k] = v
	}
	if q.code != "" {
		e := doc{"errors": []any{doc{"code": q.code, "message": q.text}}}
		if q.state == "FAILED" {
			d["status"] = doc{"error": e}
		} else {
			d["status"] = doc{"lastAttempt": doc{"error": e}}
		}
	}
	return d
}

func (c *Cloud) getResize(r *request) (doc, error) {
	g, err := c.groupOf(r)
	if err != nil {
		return nil, err
	}
	if q := g.requests[r.vars["resizeRequest"]]; q != nil {
		return c.showResize(g, q), nil
	}
	return nil, missing("resizeRequests", r.vars["resizeRequest"])
}

func (c *Cloud) listResizes(r *request) (doc, error) {
	g, err := c.groupOf(r)
	if err != nil {
		return nil, err
	}
	return c.listed(r, "compute#instanceGroupManagerResizeRequestList", sorted(g.requests, func(q *resize) doc { return c.showResize(g, q) }))
}

func (c *Cloud) cancelResize(r *request) (doc, error) {
	g, err := c.groupOf(r)
	if err != nil {
		return nil, err
	}
	q := g.requests[r.vars["resizeRequest"]]
	switch {
	case q == nil:
		return nil, missing("resizeRequests", r.vars["resizeRequest"])
	case q.state == "SUCCEEDED" || q.state == "FAILED":
		return nil, &refusal{http.StatusBadRequest, "invalid", "The resize request is " + q.state + " and cannot be cancelled"}
	}
	q.state = "CANCELLED"
	return c.begin("cancel", c.url("zones", g.zone, "instanceGroupManagers", g.name), r, nil), nil
}

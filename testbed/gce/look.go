package gce

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// generations are the TPU generations that a runtime version is for, of those versions that Google's documentation names.
var generations = map[string][]string{"tpu-ubuntu2204-base": {"v2", "v3", "v4"}, "v2-alpha-tpuv5-lite": {"v5e"}, "v2-alpha-tpuv5": {"v5p"}, "v2-alpha-tpuv6e": {"v6e"}}

// house is what the project has that is only looked at: a network with its usual rules, and images.
func (c *Cloud) house() map[string]doc {
	network := c.url("global", "networks", "default")
	return map[string]doc{
		"projects.get/": {"kind": "compute#project", "name": c.cfg.Project, "defaultServiceAccount": "1-compute@developer.gserviceaccount.com",
			"quotas": []any{doc{"metric": "GPUS_ALL_REGIONS", "limit": 100, "usage": 0}}},
		"networks.get/default":    {"kind": "compute#network", "name": "default", "autoCreateSubnetworks": true, "subnetworks": []any{c.url("regions", c.cfg.Region, "subnetworks", "default")}},
		"subnetworks.get/default": {"kind": "compute#subnetwork", "name": "default", "network": network},
		"firewalls.list/": {"kind": "compute#firewallList", "items": []any{doc{"name": "default-allow-internal", "network": network, "direction": "INGRESS", "disabled": false, "sourceRanges": []any{"10.128.0.0/9"},
			"allowed": []any{doc{"IPProtocol": "tcp", "ports": []any{"0-65535"}}}}}},
		"routers.list/": {"kind": "compute#routerList", "items": []any{}},
	}
}

// Show sets what a call that only looks at something answers: "firewalls.list", or of one thing "networks.get" and its name. nil: it is not there.
func (c *Cloud) Show(action, name string, answer map[string]any) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.fixed[action+"/"+name] = answer; answer == nil {
		delete(c.fixed, action+"/"+name)
	}
}

// Withhold takes permissions from the caller, as far as it is told of them. Calls are not refused by that: see Deny.
func (c *Cloud) Withhold(permissions ...string) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	for _, p := range permissions {
		c.withheld[p] = true
	}
}

// look answers a call that only looks at something, such as networks.get; last is the variable of its path with the thing's name.
func look(call, last string) action {
	return func(c *Cloud, r *request) (doc, error) {
		if d := c.fixed[call+"/"+r.vars[last]]; d != nil {
			return d, nil
		}
		return nil, missing(strings.TrimSuffix(call, ".get"), r.vars[last])
	}
}

// getImage shows an image by its name or family.
func (c *Cloud) getImage(r *request) (doc, error) {
	name := r.vars["image"] + r.vars["family"]
	if !c.hasImage(r.vars["project"], name) {
		return nil, missing("images", name)
	}
	return doc{"kind": "compute#image", "name": name, "status": "READY"}, nil
}

func (c *Cloud) testPermissions(r *request) (doc, error) {
	allowed := []any{}
	for _, p := range list(r.body["permissions"]) {
		if !c.withheld[p] {
			allowed = append(allowed, p)
		}
	}
	return doc{"permissions": allowed}, nil
}

func (c *Cloud) listRuntimes(r *request) (doc, error) {
	var all []any
	for _, v := range slices.Sorted(maps.Keys(generations)) {
		all = append(all, doc{"name": c.full(r.vars["locationsId"], "runtimeVersions", v), "version": v})
	}
	return doc{"runtimeVersions": all}, nil
}

// quotaInfo is a quota of TPUs, with a value for each zone that has one.
func (c *Cloud) quotaInfo(id string) doc {
	limit, bounded := c.Quota(map[bool]string{false: "on-demand", true: "spot"}[strings.Contains(id, "Preemptible")])
	if !bounded {
		limit = 1024
	}
	return doc{"quotaId": id, "dimensionsInfos": []any{doc{"details": doc{"value": strconv.Itoa(limit)}, "applicableLocations": c.cfg.Zones}, doc{"details": doc{}, "applicableLocations": []string{"us-south1-a"}}}}
}

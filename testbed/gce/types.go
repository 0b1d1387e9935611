package gce

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Type is a machine type.
type Type struct {
	Name        string
	CPUs        int
	MemMiB      int
	Accelerator string // "nvidia-l4"; "" without any
	GPUs        int
	Price       float64 // dollars an hour on demand
	SpotPrice   float64
	Zones       string // letters of the zones that have it; "" is all
}

// Types returns the stand-in's own table. Prices are those of us-central1 in the driver's table.
func Types() []Type {
	return []Type{
		{Name: "g2-standard-4", CPUs: 4, MemMiB: 16384, Accelerator: "nvidia-l4", GPUs: 1, Price: 0.706832, SpotPrice: 0.28284},
		{Name: "g2-standard-48", CPUs: 48, MemMiB: 196608, Accelerator: "nvidia-l4", GPUs: 4, Price: 3.99, SpotPrice: 1.6},
		{Name: "a2-highgpu-1g", CPUs: 12, MemMiB: 87040, Accelerator: "nvidia-tesla-a100", GPUs: 1, Price: 3.673385, SpotPrice: 1.92802},
		{Name: "a3-highgpu-8g", CPUs: 208, MemMiB: 1916928, Accelerator: "nvidia-h100-80gb", GPUs: 8, Price: 88.49, SpotPrice: 35.4, Zones: "ac"},
		{Name: "a4-highgpu-8g", CPUs: 224, MemMiB: 4063232, Accelerator: "nvidia-b200", GPUs: 8, Zones: "b"},
		{Name: "e2-standard-2", CPUs: 2, MemMiB: 8192, Price: 0.067, SpotPrice: 0.0268},
	}
}

func (t *Type) offered(zone string) bool {
	return t.Zones == "" || strings.Contains(t.Zones, zone[len(zone)-1:])
}

// typeOf is the machine type of a name or URL in a zone.
func (c *Cloud) typeOf(name, zone string) (*Type, error) {
	i := slices.IndexFunc(c.cfg.Types, func(t Type) bool { return t.Name == base(name) })
	if i < 0 || !c.cfg.Types[i].offered(zone) {
		return nil, &refusal{http.StatusNotFound, "notFound", "The resource 'projects/" + c.cfg.Project + "/zones/" + zone + "/machineTypes/" + name + "' was not found"}
	}
	return &c.cfg.Types[i], nil
}

func (c *Cloud) aggregatedTypes(r *request) (doc, error) {
	var all []doc
	for _, z := range c.cfg.Zones {
		for i, t := range c.cfg.Types {
			if !t.offered(z) {
				continue
			}
			d := doc{"kind": "compute#machineType", "id": strconv.Itoa(1000 + i), "name": t.Name, "guestCpus": t.CPUs, "memoryMb": t.MemMiB, "zone": z, "isSharedCpu": false,
				"architecture": "X86_64", "selfLink": c.url("zones", z, "machineTypes", t.Name)}
			if t.GPUs > 0 {
				d["accelerators"] = []any{doc{"guestAcceleratorType": t.Accelerator, "guestAcceleratorCount": t.GPUs}}
			}
			all = append(all, d)
		}
	}
	return c.scoped(r, "compute#machineTypeAggregatedList", "machineTypes", all)
}

func (c *Cloud) getRegion(r *request) (doc, error) {
	if r.vars["region"] != c.cfg.Region {
		return nil, missing("regions", r.vars["region"])
	}
	var zones, quotas []any
	for _, z := range c.cfg.Zones {
		zones = append(zones, c.url("zones", z))
	}
	for _, market := range []string{"on-demand", "spot"} {
		limit, bounded := c.Quota(market)
		if !bounded {
			limit = 10000
		}
		metric := map[string]string{"on-demand": "CPUS", "spot": "PREEMPTIBLE_CPUS"}[market]
		quotas = append(quotas, doc{"metric": metric, "limit": limit, "usage": c.usedCPUs(market)})
	}
	return doc{"kind": "compute#region", "name": c.cfg.Region, "status": "UP", "zones": zones, "quotas": quotas, "selfLink": c.url("regions", c.cfg.Region)}, nil
}

// Reserve makes a reservation of n machines of a type, which ends at a time unless that is "".
func (c *Cloud) Reserve(zone, name, typ string, n int, until string) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	d := doc{"kind": "compute#reservation", "id": "77", "name": name, "zone": c.url("zones", zone), "status": "READY", "specificReservationRequired": true, "selfLink": c.url("zones", zone, "reservations", name),
		"specificReservation": doc{"count": strconv.Itoa(n), "inUseCount": "0", "instanceProperties": doc{"machineType": typ}}}
	if until != "" {
		d["deleteAtTime"], d["deploymentType"] = until, "DENSE"
	}
	c.reserved[zone+"/"+name] = d
}

// ReserveAs changes a reservation: its deploymentType, its resourcePolicies (which are made), or the project that it is of, which shares it with this one.
func (c *Cloud) ReserveAs(zone, name, deployment, policy, project string) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	d := c.reserved[zone+"/"+name]
	if d["deploymentType"] = deployment; deployment == "" {
		delete(d, "deploymentType")
	}
	if policy != "" {
		d["resourcePolicies"] = doc{"own": c.url("regions", c.cfg.Region, "resourcePolicies", policy)}
		c.policies[policy] = doc{"name": policy}
	}
	if project != "" {
		d["selfLink"] = strings.Replace(str(d, "selfLink"), "/"+c.cfg.Project+"/", "/"+project+"/", 1)
	}
}

// shares reports whether a project has reservations.
func (c *Cloud) shares(project string) bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return len(c.reservedBy(project)) > 0
}

func (c *Cloud) reservedBy(project string) map[string]doc {
	found := map[string]doc{}
	for key, d := range c.reserved {
		if strings.Contains(str(d, "selfLink"), "/projects/"+project+"/") {
			found[key] = d
		}
	}
	return found
}

func (c *Cloud) aggregatedReservations(r *request) (doc, error) {
	return c.scoped(r, "compute#reservationAggregatedList", "reservations", sorted(c.reservedBy(r.vars["project"]), func(d doc) doc { return d }))
}

// reservationOf is the name of a reservation that instances ask for by that, or by its path.
func reservationOf(props doc) string {
	affinity, _ := props["reservationAffinity"].(map[string]any)
	values := list(affinity["values"])
	if len(values) == 0 {
		return ""
	}
	_, name, shared := strings.Cut(values[0], "/reservations/")
	if !shared {
		return values[0]
	}
	name, _, _ = strings.Cut(name, "/")
	return name
}

// checkReserved holds instances to the policies and the model of what they take of.
func (c *Cloud) checkReserved(at, zone string, props doc) error {
	d := c.reserved[zone+"/"+reservationOf(props)]
	if d == nil {
		return nil // lacks says so
	}
	var own []string
	policies, _ := d["resourcePolicies"].(map[string]any)
	for _, p := range policies {
		own = append(own, base(p.(string)))
	}
	have, dense := list(props["resourcePolicies"]), str(d, "deploymentType") == "DENSE"
	switch {
	case len(own) > 0 && !slices.Equal(own, have), len(own) == 0 && len(have) > 0 && !dense:
		return invalid(at+"resourcePolicies", strings.Join(have, ","), "The reservation has other resource policies.")
	case dense && str(props, "scheduling", "provisioningModel") != "RESERVATION_BOUND":
		return invalid(at+"scheduling.provisioningModel", str(props, "scheduling", "provisioningModel"), "A dense reservation wants RESERVATION_BOUND.")
	}
	return nil
}

// sorted are the resources of a map, by their keys.
func sorted[T any](all map[string]T, show func(T) doc) []doc {
	var keys []string
	for k := range all {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare)
	var list []doc
	for _, k := range keys {
		list = append(list, show(all[k]))
	}
	return list
}

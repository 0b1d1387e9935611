package azure

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
)

func (v *vm) uniform() bool {
	return *v.set.model.Properties.OrchestrationMode == armcompute.OrchestrationModeUniform
}

// id is the resource ID of a machine.
func (c *Cloud) vmID(v *vm) string {
	if v.uniform() {
		return *v.set.model.ID + "/virtualMachines/" + v.member
	}
	return c.id("Microsoft.Compute/virtualMachines", v.name)
}

// show is a machine as Azure shows it.
func (c *Cloud) show(v *vm) any {
	props := map[string]any{"provisioningState": v.state, "timeCreated": v.made, "vmId": v.name}
	out := map[string]any{"id": c.vmID(v), "name": v.name, "location": c.cfg.Location, "properties": props}
	if v.uniform() {
		out["instanceId"] = v.member
	} else {
		props["virtualMachineScaleSet"] = map[string]string{"id": strings.ToUpper(*v.set.model.ID)} // Azure does not keep the case
	}
	return out
}

func (c *Cloud) members(k *call) answer {
	s, why := c.find(k)
	if why != nil {
		return refusal(why)
	}
	list := []any{}
	for _, v := range s.vms {
		if v.uniform() {
			list = append(list, c.show(v))
		}
	}
	return ok(list)
}

// getVMs lists the machines of Flexible sets, of all or of one.
func (c *Cloud) getVMs(k *call) answer {
	_, filter, filtered := strings.Cut(k.query.Get("$filter"), "'virtualMachineScaleSet/id' eq ")
	list := []any{}
	for _, v := range c.all {
		if v.state != "" && !v.uniform() && (!filtered || strings.EqualFold(path.Base(strings.Trim(filter, "'")), *v.set.model.Name)) {
			list = append(list, c.show(v))
		}
	}
	return ok(list)
}

func (c *Cloud) deleteVM(k *call) answer {
	i := slices.IndexFunc(c.all, func(v *vm) bool { return v.name == k.path[1] && v.state != "" && !v.uniform() })
	if i < 0 {
		return answer{status: http.StatusNoContent}
	}
	c.end(c.all[i], c.cfg.Grace)
	return c.ended()
}

func (c *Cloud) deleteMembers(k *call) answer {
	s, why := c.find(k)
	if why != nil {
		return refusal(why)
	}
	var ids armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs
	if err := json.Unmarshal(k.body, &ids); err != nil {
		return refusal(bad("InvalidRequestContent", "%v", err))
	}
	var found []*vm
	for _, id := range ids.InstanceIDs {
		i := slices.IndexFunc(s.vms, func(v *vm) bool { return v.member == *id })
		if i < 0 {
			return refusal(bad("InvalidParameter", "The provided instanceId %s is not an active Virtual Machine Scale Set VM instanceId.", *id))
		}
		found = append(found, s.vms[i])
	}
	for _, v := range found {
		c.end(v, c.cfg.Grace)
	}
	return c.ended()
}

func (c *Cloud) deleteMember(k *call) answer {
	s, why := c.find(k)
	if why != nil {
		return answer{status: http.StatusNoContent}
	}
	i := slices.IndexFunc(s.vms, func(v *vm) bool { return v.member == k.path[3] })
	if i < 0 {
		return answer{status: http.StatusNoContent}
	}
	c.end(s.vms[i], c.cfg.Grace)
	return c.ended()
}

// nics lists the network interfaces of a Uniform set's machines, or of all others.
func (c *Cloud) nics(k *call) answer {
	list := []any{}
	for _, v := range c.all {
		if v.state == "" || v.uniform() != (len(k.path) > 1) || v.uniform() && !strings.EqualFold(*v.set.model.Name, k.path[1]) {
			continue
		}
		list = append(list, map[string]any{"name": v.name + "-nic", "properties": map[string]any{
			"virtualMachine": map[string]string{"id": c.vmID(v)}, "ipConfigurations": []any{map[string]any{"name": "main", "properties": map[string]any{"privateIPAddress": v.addr}}},
		}})
	}
	return ok(list)
}

func (c *Cloud) subnet(k *call) answer {
	if k.path[1]+"/"+k.path[3] != Subnet {
		return refusal(&armError{404, "NotFound", "Resource " + c.id("Microsoft.Network/virtualNetworks", k.path[1]) + "/subnets/" + k.path[3] + " not found."})
	}
	return ok(map[string]any{"name": k.path[3], "properties": map[string]any{"addressPrefix": "127.0.0.0/8", "provisioningState": "Succeeded"}})
}

func (c *Cloud) skus(*call) answer {
	list := []any{}
	for _, z := range c.cfg.Sizes {
		capability := func(name string, value any) map[string]any { return map[string]any{"name": name, "value": text(value)} }
		sku := map[string]any{
			"resourceType": "virtualMachines", "name": z.Name, "family": z.Family, "tier": "Standard", "locations": []string{c.cfg.Location},
			"locationInfo": []any{map[string]any{"location": c.cfg.Location, "zones": z.Zones}},
			"capabilities": []any{capability("vCPUs", z.CPUs), capability("GPUs", z.GPUs), capability("MemoryGB", z.MemGiB), capability("RdmaEnabled", z.RDMA),
				capability("LowPriorityCapable", z.Spot), capability("CpuArchitectureType", "x64"), capability("PremiumIO", true), capability("AcceleratedNetworkingEnabled", true)},
		}
		if z.Barred {
			sku["restrictions"] = []any{map[string]any{"type": "Location", "values": []string{c.cfg.Location}, "reasonCode": "NotAvailableForSubscription"}}
		}
		list = append(list, sku)
	}
	return ok(list)
}

func (c *Cloud) usages(*call) answer {
	list := []any{}
	for _, z := range c.cfg.Sizes {
		limit, bounded := c.Quota("on-demand")
		if !bounded {
			limit = 1000
		}
		list = append(list, map[string]any{"unit": "Count", "currentValue": 0, "limit": limit, "name": map[string]string{"value": z.Family, "localizedValue": z.Family}})
	}
	return ok(list)
}

func (c *Cloud) reservations(k *call) answer {
	all, there := c.cfg.Reservations[k.path[1]]
	if !there {
		return refusal(&armError{404, "ResourceNotFound", "The capacity reservation group was not found."})
	}
	list := []any{}
	for _, r := range all {
		list = append(list, r)
	}
	return ok(list)
}

// text is a capability's value as Azure writes it: "True", "96".
func text(v any) string {
	if b, is := v.(bool); is && b {
		return "True"
	} else if is {
		return "False"
	}
	return fmt.Sprint(v)
}

// diagnostics tells where a machine's console can be read, if its boot diagnostics are on.
func (c *Cloud) diagnostics(k *call) answer {
	i := slices.IndexFunc(c.all, func(v *vm) bool {
		return v.state != "" && (len(k.path) == 3 && v.name == k.path[1] || len(k.path) == 5 && strings.EqualFold(*v.set.model.Name, k.path[1]) && v.member == k.path[3])
	})
	if i < 0 {
		return refusal(&armError{404, "ResourceNotFound", "The machine was not found."})
	}
	if d := c.all[i].set.model.Properties.VirtualMachineProfile.DiagnosticsProfile; d == nil || d.BootDiagnostics == nil || !*d.BootDiagnostics.Enabled {
		return refusal(&armError{409, "OperationNotAllowed", "Boot diagnostics are not enabled."})
	}
	return ok(map[string]string{"serialConsoleLogBlobUri": "http://" + k.host + "/console/" + c.all[i].name})
}

// console is what a machine has printed.
func (c *Cloud) console(name string) string {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	for _, v := range c.all {
		if v.name == name && v.machine != nil {
			return v.machine.Console()
		} else if v.name == name {
			return v.console
		}
	}
	return ""
}

package azure

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"fsub/testbed/machines"
)

// The only subscription, and the network that is there.
const (
	Subscription = "11111111-2222-3333-4444-555555555555"
	Subnet       = "net/machines"
)

// Config says what cloud to make. The zero value is a good one.
type Config struct {
	ResourceGroup string // "fsub"
	Location      string // "eastus"
	Token         string // the only one that is good; "the-token"
	Sizes         []Size // [Sizes] where nil
	// Reservations are the capacity reservation groups.
	Reservations map[string][]*armcompute.CapacityReservation

	// Process makes machines run their custom data, which takes root. Else they are only states.
	Process bool
	Dir     string // of the machines; a new one, removed by Close, where empty

	Making time.Duration // of a scale set; 40 ms
	Ending time.Duration // of a machine that is deleted, at least; 20 ms
	Grace  time.Duration // from SIGTERM to SIGKILL of one; 1 s
	Lead   time.Duration // from a notice to the end; 2 s (30 s at Azure)
	Page   int           // entries of a page; 50
	Log    *slog.Logger
}

// Size is what can be rented.
type Size struct {
	Name, Family string
	CPUs, GPUs   int
	MemGiB       int
	RDMA, Spot   bool
	Zones        []string
	Barred       bool // the subscription may not have it
}

// Sizes are a few of the real ones.
func Sizes() []Size {
	zones := []string{"1", "2", "3"}
	return []Size{
		{Name: "Standard_D4s_v5", Family: "standardDSv5Family", CPUs: 4, MemGiB: 16, Spot: true, Zones: zones},
		{Name: "Standard_NC40ads_H100_v5", Family: "standardNCadsH100v5Family", CPUs: 40, GPUs: 1, MemGiB: 320, Spot: true, Zones: zones},
		{Name: "Standard_NV12ads_A10_v5", Family: "StandardNVADSA10v5Family", CPUs: 12, GPUs: 1, MemGiB: 110, Spot: true},
		{Name: "Standard_ND96isr_H100_v5", Family: "standardNDSH100v5Family", CPUs: 96, GPUs: 8, MemGiB: 1900, RDMA: true, Spot: true},
		{Name: "Standard_ND96isr_H200_v5", Family: "standardNDISRH200V5Family", CPUs: 96, GPUs: 8, MemGiB: 1850, RDMA: true, Barred: true},
	}
}

// Cloud is one resource group of a simulated Azure. Its methods may be called from several goroutines.
type Cloud struct {
	*machines.Host
	machines.Faults
	cfg Config

	// The Host's lock guards these.
	held bool
	sets map[string]*set // by name in lower case
	ops  map[string]*operation
	all  []*vm // also those that are gone
}

// set is a scale set.
type set struct {
	model *armcompute.VirtualMachineScaleSet
	size  Size
	pool  machines.Pool
	state string
	why   *armError // it failed
	vms   []*vm
	next  int
}

// operation is one that takes long.
type operation struct {
	start time.Time
	done  bool
	why   *armError
}

// vm is a machine.
type vm struct {
	name, member string
	set          *set
	addr         string
	state        string // "": it is gone
	made, ended  time.Time
	notice       time.Time
	stopped      bool // by itself
	machine      *machines.Machine
	console      string // of one that has ended, or runs nothing
	data         []byte
}

// New makes a cloud without machines. Close it.
func New(cfg Config) *Cloud {
	cfg.ResourceGroup, cfg.Location, cfg.Token = cmp.Or(cfg.ResourceGroup, "fsub"), cmp.Or(cfg.Location, "eastus"), cmp.Or(cfg.Token, "the-token")
	cfg.Making, cfg.Ending = cmp.Or(cfg.Making, 40*time.Millisecond), cmp.Or(cfg.Ending, 20*time.Millisecond)
	cfg.Grace, cfg.Lead, cfg.Page = cmp.Or(cfg.Grace, time.Second), cmp.Or(cfg.Lead, 2*time.Second), cmp.Or(cfg.Page, 50)
	if cfg.Sizes == nil {
		cfg.Sizes = Sizes()
	}
	c := &Cloud{Host: machines.NewHost(cfg.Dir, cfg.Process, cfg.Log), cfg: cfg, sets: map[string]*set{}, ops: map[string]*operation{}}
	c.Handler = c
	return c
}

// Token is the credential that is good here.
func (c *Cloud) Token() string { return c.cfg.Token }

// begin makes a scale set. The lock is held.
func (c *Cloud) begin(model *armcompute.VirtualMachineScaleSet) (*set, *operation, *armError) {
	s := &set{model: model, state: "Creating"}
	if why := c.accept(s); why != nil {
		return nil, nil, why
	}
	c.sets[strings.ToLower(*model.Name)] = s
	op := &operation{start: time.Now()}
	c.later(s, op)
	return s, op, nil
}

func (c *Cloud) later(s *set, op *operation) {
	c.Later(c.cfg.Making, func() {
		if c.held && s.state == "Creating" {
			c.later(s, op)
		} else {
			c.fill(s, op)
		}
	})
}

// Hold keeps all scale sets from being made, as long as it is on.
func (c *Cloud) Hold(on bool) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.held = on
}

// accept checks what Azure checks before it answers.
func (c *Cloud) accept(s *set) *armError {
	m, p := s.model, s.model.Properties
	if m.SKU == nil || m.SKU.Name == nil || m.SKU.Capacity == nil || p == nil || p.VirtualMachineProfile == nil || p.OrchestrationMode == nil {
		return bad("InvalidParameter", "Required parameter 'sku' or 'virtualMachineProfile' is missing (null).")
	}
	i := slices.IndexFunc(c.cfg.Sizes, func(z Size) bool { return z.Name == *m.SKU.Name })
	if i < 0 {
		return bad("InvalidParameter", "The value %s provided for the VM size is not valid.", *m.SKU.Name)
	}
	if why := c.strict(m); why != nil {
		return why
	}
	s.size = c.cfg.Sizes[i]
	s.pool = machines.Pool{Type: s.size.Name, Market: "on-demand"}
	v := p.VirtualMachineProfile
	if v.Priority != nil && *v.Priority == armcompute.VirtualMachinePriorityTypesSpot {
		s.pool.Market = "spot"
	}
	if v.CapacityReservation != nil {
		s.pool.Market = "reserved"
	}
	if len(m.Zones) > 0 {
		s.pool.Zone = c.cfg.Location + "-" + *m.Zones[0]
	}
	n, uniform := int(*m.SKU.Capacity), *p.OrchestrationMode == armcompute.OrchestrationModeUniform
	single := p.SinglePlacementGroup != nil && *p.SinglePlacementGroup
	network := v.NetworkProfile
	switch {
	case s.size.Barred:
		return &armError{409, "SkuNotAvailable", fmt.Sprintf("The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: %s' is currently not available in location '%s'. "+
			"Please try another size or deploy to a different location or different zone. See https://aka.ms/azureskunotavailable for details.", s.size.Name, c.cfg.Location)}
	case s.pool.Zone != "" && !slices.Contains(s.size.Zones, *m.Zones[0]):
		return bad("AvailabilityZoneNotSupported", "The zone(s) '%s' for resource 'Microsoft.Compute/virtualMachineScaleSets/%s' is not supported.", *m.Zones[0], *m.Name)
	case uniform && (p.UpgradePolicy == nil || p.UpgradePolicy.Mode == nil):
		return bad("InvalidParameter", "Required parameter 'upgradePolicy' is missing (null).")
	case single && n > 100:
		return bad("InvalidParameter", "A single placement group has at most 100 machines.")
	case !uniform && (p.Overprovision != nil || p.UpgradePolicy != nil):
		return bad("InvalidParameter", "Overprovision and upgradePolicy are not supported for scale sets with Flexible orchestration.")
	case !uniform && network.NetworkAPIVersion == nil:
		return bad("InvalidParameter", "Required parameter 'networkProfile.networkApiVersion' is missing (null).")
	case v.OSProfile == nil || v.OSProfile.LinuxConfiguration == nil || v.OSProfile.LinuxConfiguration.SSH == nil:
		return bad("InvalidParameter", "Authentication using either SSH or by user name and password must be enabled in Linux profile.")
	}
	subnet := subnetOf(network.NetworkInterfaceConfigurations[0])
	if subnet == nil || subnet.ID == nil {
		return bad("InvalidParameter", "Required parameter 'subnet' is missing (null).")
	}
	if *subnet.ID != c.id("Microsoft.Network/virtualNetworks", "net")+"/subnets/machines" {
		return bad("InvalidResourceReference", "Resource %s referenced by resource %s was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.", *subnet.ID, *m.ID)
	}
	quota := s.size.Family
	if s.pool.Market == "spot" {
		quota = "LowPriority"
	}
	if limit, bounded := c.Quota(s.pool.Market); bounded && c.cpus(s.pool.Market)+n*s.size.CPUs > limit {
		return &armError{409, "OperationNotAllowed", fmt.Sprintf("Operation could not be completed as it results in exceeding approved %s Cores quota. Additional details - Deployment Model: Resource Manager, "+
			"Location: %s, Current Limit: %d, Current Usage: %d, Additional Required: %d, (Minimum) New Limit Required: %d.",
			quota, c.cfg.Location, limit, c.cpus(s.pool.Market), n*s.size.CPUs, c.cpus(s.pool.Market)+n*s.size.CPUs)}
	}
	return nil
}

func (c *Cloud) cpus(market string) (n int) {
	for _, s := range c.sets {
		if s.pool.Market == market {
			n += len(s.vms) * s.size.CPUs
		}
	}
	return n
}

// fill makes the machines of a set, as many as there are. The lock is held.
func (c *Cloud) fill(s *set, op *operation) {
	op.done = true
	if s.state != "Creating" { // deleted meanwhile
		op.why = &armError{409, "OperationPreempted", "Operation execution has been preempted by a more recent operation."}
		return
	}
	want := int(*s.model.SKU.Capacity)
	have := min(want, c.InStock(s.pool, func(yield func(machines.Pool) bool) {
		for _, other := range c.all {
			if other.state != "" && !yield(other.set.pool) {
				return
			}
		}
	}))
	boot := c.BootOf(s.pool)
	for i := range have {
		dies := i >= have-int(math.Ceil(boot.Die*float64(have)))
		c.make(s, boot, dies)
	}
	if s.state = "Succeeded"; have < want {
		s.state, s.why = "Failed", c.stockOut(s)
		op.why = s.why
	}
}

func (c *Cloud) stockOut(s *set) *armError {
	if s.pool.Zone != "" {
		return &armError{409, "ZonalAllocationFailed", "Allocation failed. We do not have sufficient capacity for the requested VM size in this zone. Read more about improving likelihood of allocation success at http://aka.ms/allocation-guidance"}
	}
	return &armError{409, "AllocationFailed", "Allocation failed. We do not have sufficient capacity for the requested VM size in this region. Read more about improving likelihood of allocation success at http://aka.ms/allocation-guidance"}
}

// make makes one machine of a set. The lock is held.
func (c *Cloud) make(s *set, boot machines.Boot, dies bool) {
	v := &vm{set: s, member: fmt.Sprint(s.next), addr: c.Address(len(c.all) + 1), state: "Creating", made: time.Now().UTC(), console: boot.Console}
	s.next++
	if *s.model.Properties.OrchestrationMode == armcompute.OrchestrationModeFlexible {
		v.member = machines.RandomHex(8)
	}
	v.name = *s.model.Name + "_" + v.member
	if data := s.model.Properties.VirtualMachineProfile.OSProfile.CustomData; data != nil {
		v.data, _ = base64.StdEncoding.DecodeString(*data) // checked when it was taken
	}
	c.all, s.vms = append(c.all, v), append(s.vms, v)
	c.Later(boot.Delay, func() {
		switch {
		case v.state != "Creating":
		case dies:
			c.end(v, 0)
		default:
			if v.state = "Succeeded"; c.cfg.Process && !boot.Never {
				v.machine = c.Boot(machines.Spec{
					GPUs: s.size.GPUs - boot.Broken, ID: v.name, Addr: v.addr, Host: strings.ReplaceAll(v.name, "_", "-"), UserData: v.data, Metadata: c.Metadata(v.name),
					Env: func(metadata string) []string {
						return []string{"AZURE_POD_IDENTITY_AUTHORITY_HOST=http://" + metadata}
					},
					PowerOff: func(bool) { c.stopped(v) },
				}, func() { c.end(v, 0) })
			}
		}
	})
}

// stopped: the machine has switched itself off. It is paid for until it is deleted. The lock is held.
func (c *Cloud) stopped(v *vm) {
	if v.stopped = true; v.machine != nil {
		m := v.machine
		c.Stop(m, c.cfg.Grace, func() { v.console, v.machine = m.Console(), nil }) // it may have been deleted meanwhile
	}
}

// end deletes a machine. The lock is held.
func (c *Cloud) end(v *vm, grace time.Duration) {
	if v.state == "" || v.state == "Deleting" {
		return
	}
	v.state = "Deleting"
	gone := func() {
		v.state, v.ended, v.machine = "", time.Now().UTC(), nil
		v.set.vms = slices.DeleteFunc(v.set.vms, func(other *vm) bool { return other == v })
		c.dropIfEmpty(v.set)
	}
	if v.machine == nil {
		c.Later(c.cfg.Ending, gone)
		return
	}
	c.Stop(v.machine, grace, gone)
}

// drop deletes a set with all that is in it. The lock is held.
func (c *Cloud) drop(s *set) {
	s.state = "Deleting"
	for _, v := range slices.Clone(s.vms) {
		c.end(v, c.cfg.Grace)
	}
	c.Later(c.cfg.Ending, func() { c.dropIfEmpty(s) })
}

func (c *Cloud) dropIfEmpty(s *set) {
	if s.state == "Deleting" && len(s.vms) == 0 {
		delete(c.sets, strings.ToLower(*s.model.Name))
	}
}

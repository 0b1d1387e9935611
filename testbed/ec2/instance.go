package ec2

import (
	"cmp"
	"encoding/base64"
	"strings"
	"time"

	"fsub/testbed/ec2/model"
	"fsub/testbed/machines"
)

// The states of instances.
const (
	pending      = "pending"
	running      = "running"
	shuttingDown = "shutting-down"
	terminated   = "terminated"
	stopped      = "stopped"
)

// Why instances end whose disks are encrypted with a key that cannot be used.
const (
	keyState  = "Client.InvalidKMSKey.InvalidState"
	keyDenied = "Client.InternalError"
)

var stateCode = map[string]int{pending: 0, running: 16, shuttingDown: 32, terminated: 48, stopped: 80}

// instance is one machine. The cloud's lock guards it.
type instance struct {
	id         string
	seq        int // counts all instances of the cloud from 1
	launch     *launch
	index      int // in its launch
	addr       string
	launched   time.Time
	tags       map[string]string
	history    []stage // oldest first, never empty
	code, why  string  // StateReason
	transition string  // StateTransitionReason
	machine    *machines.Machine
	boot       Boot
	notice     time.Time // when a spot instance is to end; zero: no notice
}

// stage is a state since a time.
type stage struct {
	state string
	at    time.Time
}

func (in *instance) state() string { return in.history[len(in.history)-1].state }

// seen is the state as of a time; "" if the instance was not there.
func (in *instance) seen(at time.Time) string {
	for i := len(in.history) - 1; i >= 0; i-- {
		if !in.history[i].at.After(at) {
			return in.history[i].state
		}
	}
	return ""
}

// alive reports whether it takes capacity.
func (in *instance) alive() bool { s := in.state(); return s == pending || s == running }

func (in *instance) become(state string) {
	in.history = append(in.history, stage{state, time.Now()})
}

// start takes a new instance through its boot. The lock is held.
func (c *Cloud) start(in *instance, dies bool) {
	in.boot = c.BootOf(in.launch.pool())
	c.Later(c.cfg.Pending+in.boot.Delay, func() {
		switch {
		case in.state() != pending:
		case dies:
			why := "Server.InternalError"
			str(&in.boot.Why, why)
			c.finish(in, in.boot.Why, map[string]string{why: "Internal error on launch", keyState: "The KMS key provided is in an incorrect state", keyDenied: "Client error on launch"}[in.boot.Why])
		default:
			in.become(running)
			c.boot(in)
		}
	})
}

// boot starts the machine of an instance that is running. The lock is held.
func (c *Cloud) boot(in *instance) {
	if !c.cfg.Process || in.boot.Never {
		return
	}
	in.machine = c.Boot(machines.Spec{
		ID: in.id, Addr: in.addr, Host: hostName(in.addr), UserData: in.launch.userData, GPUs: in.launch.typ.gpus() - in.boot.Broken, Metadata: c.Metadata(in.id), Env: environ(in.id),
		PowerOff: func(reboot bool) { c.powerOff(in, reboot) },
	}, func() { c.end(in, "Server.InternalError", "Internal error on launch", "") })
}

// environ is what an instance finds in its environment, as the SDKs know it.
func environ(id string) func(string) []string {
	return func(metadata string) []string {
		return []string{"AWS_EC2_METADATA_SERVICE_ENDPOINT=http://" + metadata, "FSUB_EC2_INSTANCE=" + id}
	}
}

// end takes an instance down as a shutdown does: its processes get SIGTERM and, after the grace, SIGKILL. The lock is held.
func (c *Cloud) end(in *instance, code, why, transition string) {
	c.endWithin(in, c.cfg.Grace, code, why, transition)
}

func (c *Cloud) endWithin(in *instance, grace time.Duration, code, why, transition string) {
	if !in.alive() && in.state() != stopped {
		return
	}
	in.become(shuttingDown)
	in.code, in.why, in.transition = code, code+": "+why, transition
	c.stopMachine(in, grace, func() { c.finish(in, code, why) })
}

// stopMachine ends the processes, and does then with the lock held. The lock is held.
func (c *Cloud) stopMachine(in *instance, grace time.Duration, then func()) {
	m := in.machine
	if m == nil {
		c.Later(c.cfg.Ending, then)
		return
	}
	c.Stop(m, grace, func() {
		in.machine, in.boot.Console = nil, m.Console()
		then()
	})
}

// finish makes an instance terminated, and forgets it when it has been shown long enough. The lock is held.
func (c *Cloud) finish(in *instance, code, why string) {
	if in.state() == terminated {
		return
	}
	in.become(terminated)
	in.code, in.why = code, code+": "+why
	c.Later(c.cfg.Gone, func() { c.forget(in) })
}

func (c *Cloud) forget(in *instance) {
	delete(c.instances, in.id)
	for i, other := range c.order {
		if other == in {
			c.order = append(c.order[:i:i], c.order[i+1:]...)
			break
		}
	}
}

// powerOff does what the instance's own shutdown command has ordered. The lock is held.
func (c *Cloud) powerOff(in *instance, reboot bool) {
	if !in.alive() {
		return
	}
	why := "Instance initiated shutdown"
	switch {
	case reboot: // user data runs once in an instance's life: it stays, idle
		c.stopMachine(in, c.cfg.Grace, func() {})
	case in.launch.shutdown == "terminate" || in.launch.market == spot:
		c.end(in, "Client.InstanceInitiatedShutdown", why, "")
	default:
		c.stopMachine(in, c.cfg.Grace, func() {})
		in.become(stopped)
		in.code, in.why = "Client.InstanceInitiatedShutdown", "Client.InstanceInitiatedShutdown: "+why
	}
}

func hostName(addr string) string { return "ip-" + strings.ReplaceAll(addr, ".", "-") }

// describe is the instance as DescribeInstances shows it, in the state that is seen.
func (c *Cloud) describe(in *instance, state string) model.Doc {
	l := in.launch
	doc := model.Doc{
		"InstanceId": in.id, "ImageId": l.image, "InstanceType": l.typ.Name, "Architecture": l.typ.Arch, "AmiLaunchIndex": in.index,
		"State": model.Doc{"Code": stateCode[state], "Name": state}, "LaunchTime": in.launched, "ClientToken": l.token, "EbsOptimized": false,
		"Hypervisor": "xen", "VirtualizationType": "hvm", "RootDeviceName": "/dev/xvda", "RootDeviceType": "ebs", "EnaSupport": true,
		"Monitoring": model.Doc{"State": "disabled"}, "Tags": tagDocs(in.tags), "StateTransitionReason": in.transition,
		"Placement": c.placement(l), "MetadataOptions": c.metadataOptions(l),
		"CpuOptions": model.Doc{"CoreCount": max(1, l.typ.CPUs/2), "ThreadsPerCore": 2},
	}
	if l.market != onDemand {
		doc["InstanceLifecycle"] = l.market
	}
	if l.market == spot {
		doc["SpotInstanceRequestId"] = "sir-" + in.id[len(in.id)-8:]
	}
	if l.reservation != nil {
		doc["CapacityReservationId"] = l.reservation.id
	}
	if in.code != "" {
		doc["StateReason"] = model.Doc{"Code": in.code, "Message": in.why}
	}
	if state != terminated && state != shuttingDown {
		doc["PrivateIpAddress"], doc["PrivateDnsName"] = in.addr, hostName(in.addr)+"."+c.cfg.Region+".compute.internal"
		doc["SubnetId"], doc["VpcId"] = cmp.Or(l.subnet, c.subnetIn(l.zone)), vpcID
		doc["SecurityGroups"] = []model.Doc{{"GroupId": groupID, "GroupName": "default"}}
	}
	return doc
}

func (c *Cloud) placement(l *launch) model.Doc {
	p := model.Doc{"AvailabilityZone": l.zone, "AvailabilityZoneId": c.zoneID(l.zone), "Tenancy": "default", "GroupName": ""}
	if l.group != nil {
		p["GroupName"], p["GroupId"] = l.group.name, l.group.id
	}
	return p
}

func (c *Cloud) metadataOptions(l *launch) model.Doc {
	o := model.Doc{"State": "applied", "HttpTokens": "required", "HttpPutResponseHopLimit": 2, "HttpEndpoint": "enabled",
		"HttpProtocolIpv6": "disabled", "InstanceMetadataTags": "disabled"}
	for k, v := range l.metadata {
		o[k] = v
	}
	return o
}

// getConsoleOutput shows what an instance has printed, also of one that has ended.
func (c *Cloud) getConsoleOutput(args model.Doc) (model.Doc, error) {
	found, err := c.named([]string{args.Str("InstanceId")})
	if err == nil {
		err = dryRun(args)
	}
	if err != nil {
		return nil, err
	}
	in := found[0]
	out := model.Doc{"InstanceId": in.id, "Timestamp": time.Now().UTC()}
	text := in.boot.Console
	if in.machine != nil {
		text = in.machine.Console()
	}
	if text != "" {
		out["Output"] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return out, nil
}

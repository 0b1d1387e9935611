package sbatch

import "strings"

// usesRare is Uses for the options that Slurm 22.05's REST interface, or a newer one, has no word
// for. Some names stand for one form of an option only: "signal=B:", "nodes=LIST".
func (s *Spec) usesRare(option string) bool {
	m := s.More
	if m == nil {
		m = &More{}
	}
	switch option {
	case "switches":
		return s.Switches > 0
	case "signal=B:":
		return s.Signal != nil && s.Signal.BatchOnly
	case "exclusive=topo":
		return s.Exclusive == "topo"
	case "nodes=LIST":
		return m.NodeSizes != ""
	case "distribution=arbitrary":
		return strings.HasPrefix(m.Distribution, "arbitrary")
	case "overcommit":
		return m.Overcommit
	case "contiguous":
		return m.Contiguous
	case "stepmgr":
		return m.StepManager
	case "oom-kill-step":
		return m.OOMKillStep != ""
	case "segment":
		return m.Segment > 0
	case "core-spec=0":
		return m.NoCoreSpec
	case "resv-ports":
		return m.ResvPorts != ""
	case "reboot":
		return m.Reboot
	case "gres-flags=SHARING":
		return strings.Contains(m.GRESFlags, "sharing")
	}
	text, known := map[string]string{
		"network": m.Network, "batch": m.Batch, "tres-per-task": m.TRESPerTask, "tres-bind": m.TRESBind, "extra": m.Extra, "context": m.Context,
		"container": m.Container, "container-id": m.ContainerID, "wckey": m.WCKey, "licenses": m.Licenses,
	}[option]
	return known && text != ""
}

// lackable are the options that usesRare and Uses know.
func lackable() []string {
	return []string{"switches", "signal", "exclusive=topo", "nodes=LIST", "distribution=arbitrary", "overcommit", "contiguous", "stepmgr", "oom-kill-step", "segment", "core-spec=0",
		"resv-ports", "reboot", "gres-flags=SHARING", "network", "batch", "tres-per-task", "tres-bind", "extra", "context", "container", "container-id", "wckey", "licenses", "cores-per-socket"}
}

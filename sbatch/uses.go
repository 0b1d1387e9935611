package sbatch

import "strings"

// lackable are the options that the REST interface of Slurm 22.05, or of a newer release, has no word for, and when a job uses
// them. Some names stand for one form of an option only: "signal=B:", "nodes=LIST".
var lackable = [...]struct {
	option string
	used   func(s *Spec, m *More) bool
}{
	{"switches", func(s *Spec, _ *More) bool { return s.Switches > 0 }},
	{"signal=B:", func(s *Spec, _ *More) bool { return s.Signal != nil && s.Signal.BatchOnly }},
	{"exclusive=topo", func(s *Spec, _ *More) bool { return s.Exclusive == "topo" }},
	{"nodes=LIST", func(_ *Spec, m *More) bool { return m.NodeSizes != "" }},
	{"distribution=arbitrary", func(_ *Spec, m *More) bool { return strings.HasPrefix(m.Distribution, "arbitrary") }},
	{"cores-per-socket", func(_ *Spec, m *More) bool { _, cores, _, _ := m.Layout(); return cores != 0 }},
	{"overcommit", func(_ *Spec, m *More) bool { return m.Overcommit }},
	{"contiguous", func(_ *Spec, m *More) bool { return m.Contiguous }},
	{"stepmgr", func(_ *Spec, m *More) bool { return m.StepManager }},
	{"oom-kill-step", func(_ *Spec, m *More) bool { return m.OOMKillStep != "" }},
	{"segment", func(_ *Spec, m *More) bool { return m.Segment > 0 }},
	{"core-spec=0", func(_ *Spec, m *More) bool { return m.NoCoreSpec }},
	{"resv-ports", func(_ *Spec, m *More) bool { return m.ResvPorts != "" }},
	{"reboot", func(_ *Spec, m *More) bool { return m.Reboot }},
	{"gres-flags=SHARING", func(_ *Spec, m *More) bool { return strings.Contains(m.GRESFlags, "sharing") }},
	{"network", func(_ *Spec, m *More) bool { return m.Network != "" }},
	{"batch", func(_ *Spec, m *More) bool { return m.Batch != "" }},
	{"tres-per-task", func(_ *Spec, m *More) bool { return m.TRESPerTask != "" }},
	{"tres-bind", func(_ *Spec, m *More) bool { return m.TRESBind != "" }},
	{"extra", func(_ *Spec, m *More) bool { return m.Extra != "" }},
	{"context", func(_ *Spec, m *More) bool { return m.Context != "" }},
	{"container", func(_ *Spec, m *More) bool { return m.Container != "" }},
	{"container-id", func(_ *Spec, m *More) bool { return m.ContainerID != "" }},
	{"wckey", func(_ *Spec, m *More) bool { return m.WCKey != "" }},
	{"licenses", func(_ *Spec, m *More) bool { return m.Licenses != "" }},
}

var noMore More

// Uses reports whether s needs an option that a site may have no word for, by the option's name.
func (s *Spec) Uses(option string) bool {
	m := s.More
	if m == nil {
		m = &noMore
	}
	for i := range lackable {
		if l := &lackable[i]; l.option == option {
			return l.used(s, m)
		}
	}
	return false
}

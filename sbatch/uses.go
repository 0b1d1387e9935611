package sbatch

import (
	"reflect"
	"strings"
)

// lackable are options that the REST interface of Slurm 22.05, or of a newer release, has no word for, and when a job uses them, where that is more
// than a field of [More]. Some names stand for one form of an option only: "signal=B:", "nodes=LIST".
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
	{"core-spec=0", func(_ *Spec, m *More) bool { return m.NoCoreSpec }},
	{"gres-flags=SHARING", func(_ *Spec, m *More) bool { return strings.Contains(m.GRESFlags, "sharing") }},
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
	if s.More == nil {
		return false
	}
	i, ok := moreFields()[option]
	return ok && !reflect.ValueOf(s.More).Elem().Field(i).IsZero()
}

package sbatch

import (
	"testing"
	"time"
)

func TestChanged(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	base := func() Spec {
		return Spec{Name: "a", TimeLimit: time.Hour, MemPerCPU: 100, More: &More{Prefer: "ib"}, WorkDir: "/w", Constraint: "x"}
	}
	for _, c := range []struct {
		option, value string
		want          func(Spec) bool
	}{
		{"time", "7", func(s Spec) bool { return s.TimeLimit == 7*time.Minute }},
		{"time", "+10", func(s Spec) bool { return s.TimeLimit == 70*time.Minute }},
		{"time", "-10", func(s Spec) bool { return s.TimeLimit == 50*time.Minute }},
		{"time", "UNLIMITED", func(s Spec) bool { return s.TimeLimit == Unlimited }},
		{"job-name", "b c", func(s Spec) bool { return s.Name == "b c" }},
		{"constraint", "", func(s Spec) bool { return s.Constraint == "" }},
		{"mem", "4G", func(s Spec) bool { return s.MemPerNode == 4096 && s.MemPerCPU == 0 }},
		{"nodes", "2-4", func(s Spec) bool { return s.MinNodes == 2 && s.MaxNodes == 4 }},
		{"prefer", "", func(s Spec) bool { return s.More == nil }},
		{"licenses", "m:1", func(s Spec) bool { return s.More.Licenses == "m:1" && s.More.Prefer == "ib" }},
		{"requeue", "0", func(s Spec) bool { return s.Requeue != nil && !*s.Requeue }},
		{"oversubscribe", "no", func(s Spec) bool { return s.Exclusive == "exclusive" }},
		{"begin", "2026-11-21T10:00:00", func(s Spec) bool { return s.Begin.Equal(now.Add(22 * time.Hour)) }},
		{"nice", "5", func(s Spec) bool { return s.Nice == 5 }},
	} {
		before := base()
		got, err := before.Changed([]Change{{Key: "Key", Option: c.option, Value: c.value}}, now)
		if err != nil || !c.want(got) {
			t.Errorf("%s=%s: %+v %v", c.option, c.value, got, err)
		}
		if before.More == nil || *before.More != *base().More || before.Name != "a" {
			t.Errorf("%s=%s changed the original: %+v", c.option, c.value, before)
		}
	}
}

func TestChangedRefuses(t *testing.T) {
	for _, c := range []struct{ key, option, value, want string }{
		{"TimeLimit", "time", "abc", "scontrol: error: Invalid TimeLimit value"},
		{"TimeLimit", "time", "", "scontrol: error: Invalid TimeLimit value"},
		{"NumNodes", "nodes", "a", `scontrol: error: "a" is not a valid node count`},
		{"MinMemoryNode", "mem", "5x", "scontrol: error: Invalid MinMemoryNode value: 5x"},
		{"StartTime", "begin", "xx", "Invalid time specification (pos=0): xx"},
		{"Nice", "nice", "x", "scontrol: error: Invalid Nice value: x"},
		{"Bogus", "bogus", "7", "Update of this parameter is not supported: Bogus=7\nRequest aborted"},
		{"Wrap", "wrap", "7", "Update of this parameter is not supported: Wrap=7\nRequest aborted"},
	} {
		_, err := Spec{}.Changed([]Change{{Key: c.key, Option: c.option, Value: c.value}}, time.Now())
		if err == nil || err.Error() != c.want {
			t.Errorf("%s=%s: %v, want %s", c.key, c.value, err, c.want)
		}
	}
}

func TestChangeInUTC(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, zone)
	got, err := Change{Option: "begin", Value: "16:00"}.InUTC(now)
	if err != nil || got.Value != "2026-11-20T14:00:00" {
		t.Errorf("%+v %v", got, err)
	}
}

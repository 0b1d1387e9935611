package slurm

import (
	"encoding/json"
	"slices"
	"testing"
)

// What is set in a record is read from it as it was said, and goes when it is unset; what slurmrestd does not have is refused.
func TestRecordOptions(t *testing.T) {
	var r record
	err := json.Unmarshal([]byte(`{"shares_raw": 1, "max": {"jobs": {"active": {"set": false, "infinite": true, "number": 0}}, "tres": {"total": [{"type": "cpu", "name": "", "id": 1, "count": 8}]}},
		"qos": ["normal"], "flags": [], "coordinators": [{"name": "eve", "direct": true}, {"name": "above", "direct": false}]}`), &r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ option, path, value, want string }{
		{"Fairshare", "shares_raw", "parent", "parent"}, {"Fairshare", "shares_raw", "7", "7"}, {"MaxJobs", "max.jobs.active", "5", "5"}, {"MaxJobs", "max.jobs.active", "-1", ""},
		{"GrpTRES", "max.tres.total", "gres/gpu:h100=2,mem=64G", "cpu=8,gres/gpu:h100=2,mem=65536M"}, {"QOS", "qos", "high,normal", "high,normal"}, {"Flags", "flags", "NoDecay,DenyOnLimit", "NoDecay,DenyOnLimit"},
	} {
		if err := r.set(c.option, c.path, c.value); err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(r)
		r = nil
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		if got := r.option(c.path); got != c.want {
			t.Errorf("%s=%s is read as %q, want %q", c.option, c.value, got, c.want)
		}
	}
	if err := r.set("GrpTRES", "max.tres.total", "cpu=-1"); err != nil {
		t.Fatal(err)
	}
	_, _, list := r.at("max.tres.total")
	if text, _ := json.Marshal(list); string(text) != `[{"count":-1,"name":"","type":"cpu"},{"count":2,"name":"gpu:h100","type":"gres"},{"count":65536,"name":"","type":"mem"}]` {
		t.Errorf("unset: %s", text)
	}
	if err := r.set("GrpWall", "max.per.account.wall_clock", "5"); err == nil {
		t.Error("what slurmrestd has no place for was set")
	}
	if got := r.words("coordinators"); !slices.Equal(got, []string{"eve"}) {
		t.Errorf("coordinators %v", got)
	}
}

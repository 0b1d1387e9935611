package restd

import (
	"encoding/json"
	"strings"
	"testing"

	"fsub/federation/accounts"
)

// What a QOS of the tree sets is where slurmrestd has it; what it does not set says nothing.
func TestQOSEntry(t *testing.T) {
	bare, all := accounts.Record{Key: accounts.QOSKey("high")}, accounts.Record{Key: accounts.QOSKey("high"), Set: accounts.Settings{}}
	for _, o := range accounts.AtSites(accounts.QOS) {
		for _, try := range []string{"gang", "low", "2", "gres/gpu=2"} {
			if v, err := o.Value("", try); err == nil && v != "" {
				all.Set[o.Name] = v
			}
		}
	}
	const unset = `{"description":"high","flags":[],"id":1,"limits":{"grace_time":0,"max":{"active_jobs":{"count":null},` +
		`"jobs":{"active_jobs":{"per":{"account":null,"user":null}},"count":null,"per":{"account":null,"user":null}},` +
		`"tres":{"minutes":{"per":{"job":null,"qos":null},"total":null},"per":{"account":null,"job":null,"user":null},"total":null},` +
		`"wall_clock":{"per":{"job":null,"qos":null}}}},"name":"high","preempt":{"list":[],"mode":["DISABLED"]},"priority":0,"usage_factor":1}`
	const gpus = `[{"count":2,"name":"gpu","type":"gres"}]`
	set := strings.NewReplacer(`"flags":[]`, `"flags":["gres/gpu=2"]`, `"grace_time":0`, `"grace_time":2`, `"list":[]`, `"list":["gres/gpu=2"]`, "DISABLED", "GRES/GPU=2", `"priority":0`, `"priority":2`,
		`"usage_factor":1`, `"usage_factor":2`, `{"job":null,"qos":null},"total":null},"per":{"account":null,"job":null,"user":null},"total":null`,
		`{"job":`+gpus+`,"qos":`+gpus+`},"total":`+gpus+`},"per":{"account":`+gpus+`,"job":`+gpus+`,"user":`+gpus+`},"total":`+gpus, "null", "2").Replace(unset)
	for want, q := range map[string]*accounts.Record{unset: &bare, set: &all} {
		if got, _ := json.Marshal(qosEntry(1, q)); string(got) != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

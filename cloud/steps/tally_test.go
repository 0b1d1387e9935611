package steps

import (
	"testing"

	"fsub/cloud/agentapi"
)

// How sacct of 24.11 and 26.05 calls steps that ended so.
func TestStateOfAStep(t *testing.T) {
	for want, list := range map[string][]tally{
		"COMPLETED":     {{}, {stopped: agentapi.WhyCancel}},
		"FAILED":        {{exit: 3 << 8}, {exit: 143 << 8, stopped: agentapi.WhyCancel}},
		"CANCELLED":     {{exit: 9}, {exit: 15, stopped: agentapi.WhyCancel}, {exit: 15, stopped: agentapi.WhyTimeout}, {exit: 15, stopped: agentapi.WhyPreempt}, {lost: true, stopped: agentapi.WhyCancel}},
		"TIMEOUT":       {{exit: 15, stopped: agentapi.WhyTimeout, timeout: true}},
		"OUT_OF_MEMORY": {{exit: 9, oom: true}},
		"NODE_FAIL":     {{lost: true, exit: 9}},
	} {
		for _, how := range list {
			if got := how.state(); got != want {
				t.Errorf("%+v is %s, not %s", how, got, want)
			}
		}
	}
}

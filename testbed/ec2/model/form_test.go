package model

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDecodeAnything: whatever is sent, the answer is a Doc or a Refusal.
func TestDecodeAnything(t *testing.T) {
	ops := Load()
	names := slices.Sorted(maps.Keys(ops)) // an order, so that a seed replays
	parts := []string{"", "0", "1", "2", "-1", "99999999999999999999", "Filter", "Value", "Tag", "Key", "Placement", "GroupName", "MinCount", "MaxCount", "InstanceType",
		"LaunchTemplateConfigs", "Overrides", "Priority", "SpotOptions", "StartTime", "DryRun", "TagSpecification", "NetworkInterface"}
	part := rapid.SampledFrom(parts)
	rapid.Check(t, func(t *rapid.T) {
		form := url.Values{}
		for range rapid.IntRange(0, 6).Draw(t, "parameters") {
			key := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "key"), ".")
			form[key] = []string{rapid.OneOf(rapid.Just("1"), rapid.Just("true"), rapid.Just("2026-11-22T00:00:00Z"), rapid.String()).Draw(t, "value")}
		}
		doc, err := ops[rapid.SampledFrom(names).Draw(t, "action")].Decode(form)
		var r *Refusal
		if err != nil && !errors.As(err, &r) || err == nil && doc == nil {
			t.Fatalf("%v, %v", doc, err)
		}
	})
}

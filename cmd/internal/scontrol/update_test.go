package scontrol

import (
	"testing"

	"fsub/sbatch"
)

// TestKeysAreChangeable: what scontrol names, the daemon takes.
func TestKeysAreChangeable(t *testing.T) {
	for _, k := range keys {
		if k.option != "priority" && k.option != "array-limit" && !sbatch.Changeable(k.option) {
			t.Errorf("%s: --%s cannot be changed", k.name, k.option)
		}
	}
}

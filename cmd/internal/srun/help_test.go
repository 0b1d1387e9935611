package srun

import "testing"

// TestHelpSaysAll: each option that does something is described as one of a step, or refused with what to do instead.
func TestHelpSaysAll(t *testing.T) {
	known := map[string]bool{}
	for _, o := range options {
		known[o.name] = true
		_, step := ofSteps[o.name]
		_, help := ofHelp[o.name]
		if does := o.set != nil; does != (step || help || refusals[o.name] != "") {
			t.Errorf("--%s: does something %v, described %v", o.name, does, step || help)
		}
	}
	for _, all := range []map[string]said{ofSteps, ofHelp} {
		for name := range all {
			if !known[name] {
				t.Errorf("--%s is described, and srun does not have it", name)
			}
		}
	}
}

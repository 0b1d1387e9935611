package sbatch

import (
	"slices"
	"testing"
)

// TestLateDirectives: directives after the first command, which sbatch ignores.
func TestLateDirectives(t *testing.T) {
	for script, want := range map[string][]int{
		"#!/bin/sh\n#SBATCH -n2\n# a comment\n\n#SBATCH -c1\ntrue\n":                nil,
		"#!/bin/sh\n#SBATCH -n2\nset -e\n#SBATCH -c1\n  #SBATCH -t1\n#SBATCH -N1\n": {4, 6},
		"#!/bin/sh\n": nil,
	} {
		if got := lateDirectives(script); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", script, got, want)
		}
	}
}

// TestEmptyPartition: slurmctld refuses it by the name of (null), and a later option names another one.
func TestEmptyPartition(t *testing.T) {
	for args, want := range map[string]string{"--partition=": "(null)", "--partition=main": "main"} {
		req, err := Parse(Input{Args: []string{args, "--wrap", "true"}, Dir: "/"})
		if err != nil || req.Spec.Partition != want {
			t.Errorf("%s: %v, %v, want %s", args, req, err, want)
		}
	}
}

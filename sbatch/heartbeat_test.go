package sbatch

import (
	"strings"
	"testing"
)

// TestHeartbeat: each node has a file of its own, or the option is refused.
func TestHeartbeat(t *testing.T) {
	for _, good := range []string{"beat-%n", "/tmp/%j/%3n", "%N.beat", "b%%-%N"} {
		r, err := Parse(input("#!/bin/sh\n#FSUB --heartbeat=" + good + "\ntrue\n"))
		if err != nil || r.Spec.Heartbeat() != good {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, why := range map[string]string{"beat-%j": "%n", "beat-%%n": "%n", "": "1 to 1024 bytes", "a\n%n": "1 to 1024 bytes", strings.Repeat("x", 1100) + "%n": "1 to 1024 bytes"} {
		f := Fed{}
		if got := setHeartbeat(&f, bad); !strings.Contains(got, why) || f.Heartbeat != "" {
			t.Errorf("%.20q: %q", bad, got)
		}
	}
}

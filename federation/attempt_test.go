package federation_test

import (
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

// A key is what slurmdbd makes of it, which knows lower case only; older keys have the federation's name as it is configured.
func TestAttemptKey(t *testing.T) {
	key := federation.AttemptKey("Lab", &federation.Job{ID: 30000001, Submit: time.Unix(1795403685, 0)}, 2)
	if key != strings.ToLower(key) {
		t.Errorf("the key %q is not in lower case", key)
	}
	for _, k := range []string{key, strings.Replace(key, "lab", "Lab", 1)} {
		if after, ok := federation.CutKey(k, "Lab"); !ok || !strings.HasPrefix(after, "30000001.2.") {
			t.Errorf("%q: %q, %v", k, after, ok)
		}
	}
	for _, k := range []string{"", "fsub:", "fsub:lab", "fsub:lab2:30000001.2.x", "fsub:la:30000001.2.x", "30000001.2.x"} {
		if after, ok := federation.CutKey(k, "Lab"); ok {
			t.Errorf("%q: taken for one of ours: %q", k, after)
		}
	}
}

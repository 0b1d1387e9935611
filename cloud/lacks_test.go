package cloud

import (
	"strings"
	"testing"
	"time"

	"fsub/sbatch"
)

// A pool says what its machines cannot keep in words that placement understands: a job that asks for it goes elsewhere.
func TestLacks(t *testing.T) {
	given := map[string]string{"licenses": "-L matlab:2", "container": "--container=/bundle", "container-id": "--container-id=x", "resv-ports": "--resv-ports --stepmgr",
		"gres-flags=SHARING": "--gres-flags=multiple-tasks-per-sharing"}
	for _, option := range lacks {
		r, err := sbatch.Parse(sbatch.Input{Args: append(strings.Fields(given[option]), "--wrap", "true"), Dir: "/", Now: time.Now()})
		if err != nil || !r.Spec.Uses(option) {
			t.Errorf("%s (%s): %v", option, given[option], err)
		}
	}
}

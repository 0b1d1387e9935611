package slurm

import (
	"testing"

	"fsub/federation"
	"fsub/slurm/wire"
)

// TestState: 22.05 says one word, in which a flag stands before the state; newer ones list all.
func TestState(t *testing.T) {
	for _, c := range []struct {
		said wire.Strings
		want federation.State
	}{
		{wire.Strings{"PENDING"}, federation.Pending},
		{wire.Strings{"RUNNING"}, federation.Running},
		{wire.Strings{"RUNNING", "CONFIGURING"}, federation.Configuring},
		{wire.Strings{"COMPLETED", "COMPLETING"}, federation.Completing},
		{wire.Strings{"PENDING", "COMPLETING"}, federation.Pending},
		{wire.Strings{"COMPLETING"}, federation.Completing},
		{wire.Strings{"CONFIGURING"}, federation.Configuring},
		{wire.Strings{"STOPPED"}, federation.Suspended},
		{wire.Strings{"SPECIAL_EXIT"}, federation.Pending},
	} {
		if got := state(c.said); got != c.want {
			t.Errorf("%v: %s, want %s", c.said, got, c.want)
		}
	}
}

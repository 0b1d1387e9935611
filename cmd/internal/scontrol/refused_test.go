package scontrol

import (
	"bytes"
	"strings"
	"testing"
)

// TestRefusedVerbs: commands that the federation does not have say in one line what to do, by as few letters as real scontrol takes.
func TestRefusedVerbs(t *testing.T) {
	for word, want := range map[string]string{
		"token": "need no token", "pidinfo": "run scontrol pidinfo", "pid": "run scontrol pidinfo", "getent": "run scontrol getent", "gethost": "run scontrol gethost",
	} {
		if said, ok := refusedVerb(word, false); !ok || !strings.Contains(said, want) || strings.Contains(said, "\n") {
			t.Errorf("%s: %q, want %q in one line", word, said, want)
		}
	}
	if said, ok := refusedVerb("nosuch", false); ok {
		t.Errorf("nosuch: %q", said)
	}
}

// TestRefusedToRoot: root, whom Slurm would let do it, is told where to do it instead of "Invalid user id". Others read what Slurm tells them.
func TestRefusedToRoot(t *testing.T) {
	for _, test := range []struct{ words, user, root string }{
		{"reconfigure", "slurm_reconfigure error: Invalid user id", "slurm_reconfigure error: not here: run scontrol reconfigure at the site; fed serve reads its own configuration again on SIGHUP"},
		{"create reservation starttime=now", "slurm_create error: Invalid user id", "slurm_create error: not here: run scontrol create at the site; fed maintenance add plans a maintenance here"},
		{"update partitionname=main state=drain", "slurm_update error: Invalid user id", "slurm_update error: not here: run scontrol update at the site; fed maintenance plans maintenances, fed site drain closes a site here"},
		{"setdebugflags +backfill", "slurm_set_debug_flags error: Permission denied", "slurm_set_debug_flags error: not here: run scontrol setdebugflags at the site"},
	} {
		for _, root := range []bool{false, true} {
			want := test.user
			if root {
				want = test.root
			}
			var said bytes.Buffer
			c := command{printer: printer{stderr: &said}, root: root}
			if exit := c.do(strings.Fields(test.words)); exit != 1 || said.String() != want+"\n" {
				t.Errorf("%s, root %v: exit %d, %q, want %q", test.words, root, exit, said.String(), want)
			}
		}
	}
}

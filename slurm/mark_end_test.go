package slurm

import (
	"testing"
	"time"

	"fsub/federation"
)

// An end is told once, also if the list that led to it still showed the job as completing; a different end is told.
func TestAnEndIsToldOnce(t *testing.T) {
	m := (&mark{}).clone()
	j := federation.SiteJob{ID: 30000001, State: federation.Completed, End: time.Unix(100, 0)}
	if m.noteEnd(&j) {
		t.Error("told before it was noted")
	}
	if !m.clone().noteEnd(&j) {
		t.Error("the same end is told again")
	}
	later := j
	later.ExitStatus = 256
	if m.clone().noteEnd(&later) {
		t.Error("an end that differs is not told")
	}
	again := j
	again.State = federation.Running // requeued: its next end is news, even if it looks the same
	if m.noteEnd(&again) || m.noteEnd(&j) {
		t.Error("the end after a requeue is not told")
	}
	m.forget(map[number]bool{})
	if len(m.ends) != 0 {
		t.Error("the ends of jobs that the site no longer holds are kept")
	}
}

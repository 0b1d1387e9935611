package controller

import (
	"testing"
	"time"

	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/sbatch"
)

// TestCopiesAreNoted: what a job that runs has saved stands with its attempt, and so does what it has saved at its end.
func TestCopiesAreNoted(t *testing.T) {
	b, f := stagedBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Keep: []string{"ck"}} })
	b.rounds(4)
	b.cheap.start(id)
	b.wait(copiesEvery)
	if got := b.attempts(id)[0].Kept; got != nil {
		t.Errorf("nothing was saved, and %+v stands there", got)
	}
	f.kept = &egress.Kept{Bytes: 5, At: b.now().UTC(), Place: "aws:us-east-1"}
	b.wait(2 * copiesEvery)
	if got := b.attempts(id)[0].Kept; got == nil || *got != *f.kept {
		t.Errorf("%+v, want %+v", got, f.kept)
	}
	f.kept = &egress.Kept{Bytes: 7, At: b.now().UTC()}
	b.cheap.end(id, federation.Completed)
	b.wait(10 * time.Second)
	if got := b.attempts(id)[0].Kept; got == nil || got.Bytes != 7 {
		t.Errorf("at its end %+v", got)
	}
}

package controller

import (
	"testing"

	"fsub/federation"
	"fsub/federation/journal"
)

// Who follows the log reads that an array has ended after he has read it of its tasks, though all is written together and the array was written first.
func TestArrayEndsAfterItsTasks(t *testing.T) {
	array := newJob(federation.Job{ID: 1, State: federation.Running, Whole: &federation.ArrayWhole{Count: 1, Spread: true}})
	task := newJob(federation.Job{ID: 2, State: federation.Running, Part: &federation.ArrayPart{Array: 1, Index: 0}})
	for _, j := range []*job{array, task} {
		j.State = federation.Completed
	}
	b := pendingBatch{jobs: map[*job]bool{}}
	b.job(array)
	b.job(task)
	moves := b.records().Moves
	if len(moves) != 2 || moves[0].Job != 2 || moves[1].Job != 1 || moves[1].What != journal.MoveEnd {
		t.Errorf("%+v", moves)
	}
}

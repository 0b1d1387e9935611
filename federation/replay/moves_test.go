package replay_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/move"
	"fsub/federation/place"
	"fsub/federation/replay"
	"fsub/sbatch"
)

// TestMovesHoldWhatTheyRunOn: with jobs that make room for gangs, nothing is in use at the sites but what runs, over all of the time. A gang that was also booked the places of
// those that had left for it made moves look harmful.
func TestMovesHoldWhatTheyRunOn(t *testing.T) {
	var fleet []*federation.Site
	for _, name := range []string{"left", "right"} {
		s, err := replay.ParseSite(name + "=8x8:h100,price=1")
		if err != nil {
			t.Fatal(err)
		}
		fleet = append(fleet, s)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var jobs []replay.Job
	add := func(gpus int, run time.Duration) {
		spec := sbatch.Spec{MinNodes: 1, MaxNodes: 1, CPUsPerTask: gpus, GPUsPerNode: fmt.Sprintf("h100:%d", gpus), TimeLimit: 24 * time.Hour}
		if gpus < 8 {
			spec.Fed = &sbatch.Fed{Keep: []string{"ck"}, Checkpoint: 30 * time.Minute}
		}
		j := &federation.Job{ID: federation.JobID(len(jobs) + 1), User: fmt.Sprint("u", len(jobs)%5), State: federation.Pending, Submit: at}
		j.SetSpec(spec)
		jobs = append(jobs, replay.Job{Job: j, Run: run})
	}
	for range 600 {
		gpus := 1 + rng.IntN(4)
		if rng.IntN(5) == 0 {
			gpus = 8
		}
		add(gpus, time.Duration(1+rng.IntN(300))*time.Minute)
		at = at.Add(time.Duration(rng.IntN(140)) * time.Second * 2)
	}
	at = at.Add(60 * 24 * time.Hour)
	add(1, time.Minute) // what is in use is summed until the last one comes
	p := place.DefaultPolicy()
	p.Reservations = 1
	cfg := replay.Config{Sites: fleet, Jobs: jobs, Policy: p, Order: replay.FIFO, Gap: 5 * time.Second, Moves: move.Default()}
	cfg.Moves.Gangs = move.On
	r := run(t, cfg)
	want := r.LostGPUHours
	for i := range jobs[:len(jobs)-1] {
		want += jobs[i].Run.Hours() * float64(r.Jobs[i].GPUs)
	}
	// A gang holds its nodes while those that leave are leaving.
	if most := want + float64(r.Moves)*8*5/60; r.Moves < 5 || r.GPUHours < want-float64(r.Moves) || r.GPUHours > most {
		t.Errorf("%d moves; %.1f GPU hours in use, want %.1f to %.1f", r.Moves, r.GPUHours, want, most)
	}
}

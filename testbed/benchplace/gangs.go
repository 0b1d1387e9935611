package main

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/federation"
	"fsub/federation/move"
	"fsub/federation/place"
	"fsub/federation/replay"
	"fsub/sbatch"
)

// gangs tells which share of the jobs of eight GPUs and more start at once, on Philly's trace and on a mix of jobs that
// want one leaf.
func gangs() (string, error) {
	file, err := tracesFile("philly_2017_sia.csv.gz")
	if err != nil {
		return "", err
	}
	type load struct {
		name string
		make func() ([]replay.Job, []*federation.Site, error)
		keep float64 // the share of jobs that keep their checkpoints, and are moved for gangs
	}
	var loads []load
	for _, keep := range []float64{0, .5} {
		loads = append(loads,
			load{"Philly, 720 GPUs, leaves of 4 nodes", func() ([]replay.Job, []*federation.Site, error) { return phillyLeaves(file, 720, 4) }, keep},
			load{"Philly, 600 GPUs, leaves of 4 nodes", func() ([]replay.Job, []*federation.Site, error) { return phillyLeaves(file, 600, 4) }, keep},
			load{"mix, 85 % load", func() ([]replay.Job, []*federation.Site, error) { return mix(0.85) }, keep},
			load{"mix, 70 % load", func() ([]replay.Job, []*federation.Site, error) { return mix(0.70) }, keep})
	}
	rows := make([]string, len(loads))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, l := range loads {
		g.Go(func() error {
			jobs, sites, err := l.make()
			if err != nil {
				return err
			}
			p := place.DefaultPolicy()
			p.Reservations = 1
			cfg := replay.Config{Sites: sites, Jobs: jobs, Policy: p, Order: replay.FIFO, Gap: gangGap}
			if l.keep > 0 {
				keepSome(jobs, l.keep)
				cfg.Moves = move.Default()
				cfg.Moves.Gangs = move.On
			}
			r, err := replay.Run(cfg)
			if err != nil {
				return err
			}
			rows[i] = gangRow(l.name, l.keep, r)
			fmt.Fprint(os.Stderr, rows[i])
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	return "| jobs | keep | of 8 GPUs at once | within 3 min | of more at once | within 3 min | mean wait of 8, s | of more, s | of all, s | utilisation | moves, GPU-hours lost |\n|---|---|---|---|---|---|---|---|---|---|---|\n" +
		strings.Join(rows, ""), nil
}

// gangGap is how far apart plans are at least. A job that starts in the first plan after it came has started at once.
const gangGap = 5 * time.Second

// soon is how long a gang waits for those at most that make room for it at once.
const soon = 3 * time.Minute

// keepSome has a share of the jobs keep a checkpoint that they write each half hour.
func keepSome(jobs []replay.Job, share float64) {
	rng := rand.New(rand.NewSource(2))
	for i := range jobs {
		if rng.Float64() >= share {
			continue
		}
		j := *jobs[i].Job
		spec := *j.Spec
		spec.Fed = &sbatch.Fed{Keep: []string{"checkpoints"}, Checkpoint: 30 * time.Minute}
		j.SetSpec(spec)
		jobs[i].Job = &j
	}
}

func gangRow(name string, keep float64, r *replay.Result) string {
	var n, at, within [2]int
	var wait [2]float64
	for i := range r.Jobs {
		o := &r.Jobs[i]
		gpus := replay.GPUs(o.Job)
		if gpus < 8 || o.Start.IsZero() {
			continue
		}
		k := 0
		if gpus > 8 {
			k = 1
		}
		w := o.Start.Sub(o.Submit)
		n[k]++
		wait[k] += w.Seconds()
		if w <= gangGap {
			at[k]++
		}
		if w <= soon {
			within[k]++
		}
	}
	s := r.Summary()
	share := func(of, k int) float64 { return 100 * float64(of) / float64(max(n[k], 1)) }
	return fmt.Sprintf("| %s | %.0f %% | %.1f %% of %d | %.1f %% | %.1f %% of %d | %.1f %% | %.0f | %.0f | %.0f | %.1f %% | %d, %.0f |\n", name, 100*keep, share(at[0], 0), n[0], share(within[0], 0),
		share(at[1], 1), n[1], share(within[1], 1), wait[0]/float64(max(n[0], 1)), wait[1]/float64(max(n[1], 1)), s.MeanWait.Seconds(), 100*s.Utilisation, r.Moves, r.LostGPUHours)
}

// phillyLeaves is Philly's trace on its four sites, whose nodes have leaves.
func phillyLeaves(file string, gpus, leaf int) (jobs []replay.Job, sites []*federation.Site, err error) {
	if jobs, err = readTrace(file); err != nil {
		return nil, nil, err
	}
	jobs = jobs[:min(len(jobs), 25_000)]
	askLimits(jobs)
	for i, nodes := range []int{8, 16, 16, 20} {
		s, err := replay.ParseSite(fmt.Sprintf("s%d=%dx8:p100,price=1,leaf=%d", i+1, nodes*gpus/480, leaf))
		if err != nil {
			return nil, nil, err
		}
		sites = append(sites, s)
	}
	return jobs, sites, nil
}

// mix is jobs that come by chance to two sites of 64 nodes in leaves of eight, so many that this share of the GPUs
// would be in use: of 100 jobs 70 ask for a GPU, 6 for two, 8 for four, 9 for eight, and 7 for two to eight nodes below
// one switch. They run for an hour and a half on average, and a tenth of them for more than three.
func mix(load float64) (jobs []replay.Job, sites []*federation.Site, err error) {
	count := 20_000
	if small {
		count = 2000
	}
	for _, name := range []string{"left", "right"} {
		s, err := replay.ParseSite(name + "=64x8:h100,price=1,leaf=8")
		if err != nil {
			return nil, nil, err
		}
		sites = append(sites, s)
	}
	rng := rand.New(rand.NewSource(1))
	at, gpuHours := time.Unix(1.7e9, 0).UTC(), 0.
	for i := range count {
		gpus, nodes := 8, 1
		switch r := rng.Intn(100); {
		case r < 70:
			gpus = 1
		case r < 76:
			gpus = 2
		case r < 84:
			gpus = 4
		case r < 93:
		default:
			nodes = []int{2, 2, 2, 3, 4, 4, 8}[r-93]
		}
		run := time.Duration(math.Exp(rng.NormFloat64()*0.9) * float64(time.Hour)).Round(time.Second)
		spec := &sbatch.Spec{MinNodes: nodes, MaxNodes: nodes, CPUsPerTask: 8 * gpus, GPUsPerNode: fmt.Sprintf("h100:%d", gpus), TimeLimit: (run * 5 / 4).Round(time.Hour) + time.Hour}
		if nodes > 1 {
			spec.Switches = 1
		}
		j := &federation.Job{ID: federation.JobID(i + 1), User: fmt.Sprintf("u%d", i%10), State: federation.Pending, Submit: at}
		j.SetSpec(*spec)
		jobs = append(jobs, replay.Job{Job: j, Run: run})
		gpuHours += float64(gpus*nodes) * run.Hours()
		at = at.Add(time.Duration(rng.ExpFloat64() * float64(time.Second)))
	}
	// The times between them make the load.
	span := gpuHours / (128 * 8 * load)
	first, have := jobs[0].Submit, jobs[count-1].Submit.Sub(jobs[0].Submit).Hours()
	for i := range jobs {
		jobs[i].Submit = first.Add(time.Duration(float64(jobs[i].Submit.Sub(first)) * span / have))
	}
	return jobs, sites, nil
}

package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/federation"
	"fsub/federation/place"
	"fsub/federation/replay"
)

// streams are the jobs of the trace's eighth week, half of them submitted at the sites.
type streams struct {
	sites   []*federation.Site
	local   []replay.LocalJob // of those who submit at their site
	ours    []replay.Job      // of those who submit to the federation ...
	without []replay.LocalJob // ... or, without it, at a site too
}

// localStreams has every second job submitted at a site, and the others to the federation, or at a site too. All stand in the queues of the sites in the order in which
// they came there.
func localStreams() (string, error) {
	file, err := tracesFile("philly_w8.csv.gz")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| GPUs | draw | the other half | wait of local jobs: mean, p50 / p90 / p99, s | wait of the other half: mean, p50 / p90 / p99, s | other / local, mean |\n|---|---|---|---|---|---|\n")
	const without, fixed, byDefault = "at sites too: without us", "through us, 8 of ours wait at a site at most", "**through us**"
	type row struct {
		gpus  int
		draw  int64
		words string
	}
	var rows []row
	for _, gpus := range []int{600, 720} {
		for draw := range int64(3) {
			rows = append(rows, row{gpus, draw + 1, without})
			if draw == 0 {
				rows = append(rows, row{gpus, draw + 1, fixed})
			}
			rows = append(rows, row{gpus, draw + 1, byDefault})
		}
	}
	texts := make([]string, len(rows))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, r := range rows {
		g.Go(func() error {
			s, err := streamsOf(file, r.gpus, r.draw+2)
			if err != nil {
				return err
			}
			if r.words == fixed {
				for _, site := range s.sites {
					site.Backlog = 8
				}
			}
			local, ours, err := s.play(r.words == without)
			if err != nil {
				return err
			}
			texts[i] = fmt.Sprintf("| %d | %d | %s | %s | %s | %.2f |\n", r.gpus, r.draw, r.words, waitsText(local), waitsText(ours), meanWait(ours)/meanWait(local))
			fmt.Fprintf(os.Stderr, "local, %s", texts[i])
			return nil
		})
	}
	err = g.Wait()
	return b.String() + strings.Join(texts, ""), err
}

func streamsOf(file string, gpus int, seed int64) (s streams, err error) {
	jobs, err := readTrace(file)
	if err != nil {
		return s, err
	}
	askLimits(jobs)
	if s.sites, err = phillySites(gpus); err != nil {
		return s, err
	}
	s.ours, s.local, s.without = replay.AtSites(jobs, s.sites, .5, seed)
	return s, nil
}

// play returns the waits of both halves.
func (s *streams) play(without bool) (local, ours []time.Duration, err error) {
	cfg := replay.Config{Sites: s.sites, Jobs: s.ours, Local: s.local, Policy: place.DefaultPolicy(), Order: replay.FIFO, Gap: 5 * time.Second}
	cfg.Policy.Reservations = 1
	if without {
		cfg.Local = append(slices.Clone(s.local), s.without[1:]...) // one has to be left
		slices.SortStableFunc(cfg.Local, func(a, b replay.LocalJob) int { return cmp.Or(a.Submit.Compare(b.Submit), cmp.Compare(a.ID, b.ID)) })
		cfg.Jobs = s.ours[:1]
	}
	r, err := replay.Run(cfg)
	if err != nil {
		return nil, nil, err
	}
	through := map[federation.JobID]bool{}
	for i := range s.ours {
		through[s.ours[i].ID] = true
	}
	for _, o := range append(r.Jobs, r.Local...) {
		switch {
		case o.Start.IsZero():
			return nil, nil, fmt.Errorf("job %d has not started: %s", o.Job.ID, o.Reason)
		case through[o.Job.ID]:
			ours = append(ours, o.Start.Sub(o.Submit))
		default:
			local = append(local, o.Start.Sub(o.Submit))
		}
	}
	return local, ours, nil
}

func meanWait(waits []time.Duration) (mean float64) {
	for _, w := range waits {
		mean += w.Seconds() / float64(len(waits))
	}
	return mean
}

func waitsText(waits []time.Duration) string {
	slices.Sort(waits)
	at := func(share float64) float64 { return waits[int(share*float64(len(waits)))].Seconds() }
	return fmt.Sprintf("%.0f, %.0f / %.0f / %.0f", meanWait(waits), at(.5), at(.9), at(.99))
}

package once

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"fsub/testbed/bed"
)

// TestExactlyOnce submits jobs to the real daemon over real Slurm while it kills the daemon and the sites' controllers and
// loses requests and answers between them. Every job that was acknowledged must have run once, or the books must say why
// it ran again.
//
// FSUB_ONCE_JOBS is how many (300; mapped 120; FSUB_FULL: 2000 and 1000), FSUB_ONCE_SEED the seed of the faults, FSUB_ONCE_KEEP=1 leaves the bed up.
func TestExactlyOnce(t *testing.T) { exactlyOnce(t, pinned, 300, 2000) }

// TestExactlyOnceMapped is the same where sites give numbers of their own: Slurm 22.05, which has no word for ours, and 24.11 made to.
func TestExactlyOnceMapped(t *testing.T) { exactlyOnce(t, mapped, 120, 1000) }

// TestExactlyOnceSeveral is the same with three daemons that share a database: the one that leads is killed, and so is the database.
func TestExactlyOnceSeveral(t *testing.T) { exactlyOnce(t, several, 100, 1000) }

// setting is the sites of a run, and what of the daemon's configuration of them is not as usual.
type setting struct {
	sites    []string
	features []string // bind a job to one site; all have nodes without need for their GPUs
	config   map[string]any
	policy   map[string]any
	daemons  int  // 0: one
	direct   bool // no line that loses anything stands between them and the daemon
}

var (
	pinned  = setting{sites: []string{"alpha", "beta"}, features: []string{"", "", "h100", "a100"}}
	several = setting{sites: []string{"gamma", "delta"}, features: []string{""}, daemons: 3}
	mapped  = setting{sites: []string{"alpha", "delta"}, features: []string{"", "", "h100", "v100"}, config: map[string]any{"mode": "mapped"}}
)

func exactlyOnce(t *testing.T, set setting, few, many int) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, NOTHING WAS TESTED: real Slurm sites need root")
	}
	if testing.Short() {
		t.Skip("SKIPPED, NOTHING WAS TESTED: -short; this test starts real Slurm sites and takes minutes")
	}
	t.Parallel() // each has a bed of its own, and both wait most of their time
	seed := number(t, "FSUB_ONCE_SEED", int(time.Now().UnixNano()%1_000_000))
	jobs := few
	if os.Getenv("FSUB_FULL") != "" {
		jobs = many
	}
	jobs = number(t, "FSUB_ONCE_JOBS", jobs)
	t.Logf("%d submissions; run again with FSUB_ONCE_JOBS=%d FSUB_ONCE_SEED=%d", jobs, jobs, seed)

	w := newWorld(t, set, uint64(seed))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute+time.Duration(jobs)*400*time.Millisecond)
	defer cancel()

	// Faults begin with the first submission and end after the last.
	faults, stop := context.WithCancel(ctx)
	var torment sync.WaitGroup
	torment.Go(func() { w.killDaemon(faults) })
	if w.database != nil {
		torment.Go(func() { w.killDatabase(faults) })
	}
	for _, site := range w.sites {
		torment.Go(func() { w.killController(faults, site) })
	}
	working, rest := context.WithCancel(ctx)
	var operator sync.WaitGroup
	operator.Go(func() { w.resumeNodes(working) })
	w.lose()
	begun := time.Now()
	subs := w.submit(ctx, jobs)
	t.Logf("submitted within %v", time.Since(begun).Round(time.Second))
	sleep(ctx, 3*time.Second)
	w.struck(ctx)
	stop()
	torment.Wait()
	w.loseNothing()
	w.registerNodes(ctx)

	w.awaitEnds(ctx, subs)
	rest()
	operator.Wait()
	w.check(ctx, subs, begun)
}

func number(t *testing.T, env string, otherwise int) int {
	t.Helper()
	v := os.Getenv(env)
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no positive number", env, v)
	}
	return n
}

// sleep waits; it returns false if ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// newBed starts two sites in a bed of the test's own.
func newBed(t *testing.T, sites []string) *bed.Bed {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "fsub-once-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := bed.New(bed.Options{Dir: dir, Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if os.Getenv("FSUB_ONCE_KEEP") != "" {
			t.Logf("the bed stays; end it with: bin/bed down --wipe --dir %s", dir)
			return
		}
		if err := b.Down(context.Background(), nil, true, nil); err != nil {
			t.Errorf("bed down: %v", err)
		}
		os.RemoveAll(dir)
	})
	if err := b.Up(t.Context(), sites, os.Stderr); err != nil {
		t.Fatalf("bed up: %v", err)
	}
	return b
}

func token(i, try int) string { return fmt.Sprintf("once-%d.%d", i, try) }

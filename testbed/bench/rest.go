package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fsub/federation"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/slurm/wire"
	"fsub/testbed/simsite"
)

// The federation of this part: many sites, all of them full, and far more jobs than could ever start.
const (
	restNodes  = 100 // of each site
	restShapes = 50
	restUsers  = 20
)

// rest measures a daemon at rest over simulated sites: how soon after its start squeue shows all jobs, what it holds in memory, and
// how much of a processor it uses while nothing changes. The jobs are put into its store directly. It needs no Slurm.
func (r *bench) rest(ctx context.Context) error {
	dir := r.restDir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "fsub-bench-rest"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	if err := r.fillStore(ctx, dir); err != nil {
		return fmt.Errorf("fill the store: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := r.serveRestSites(ctx, dir); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "fed.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	fed := exec.Command(r.fed, "serve", "--config", filepath.Join(dir, "fed.yaml"))
	fed.Stdout, fed.Stderr = log, log
	begun := time.Now()
	if err := fed.Start(); err != nil {
		return err
	}
	defer func() {
		fed.Process.Signal(syscall.SIGTERM)
		fed.Wait()
	}()
	squeue := filepath.Join(dir, "squeue")
	if err := copyFile(r.fsub, squeue, 0o755); err != nil {
		return err
	}
	first, err := r.awaitQueue(ctx, squeue, filepath.Join(dir, "s"))
	if err != nil {
		return fmt.Errorf("%w; the daemon's log ends: %s", err, tail(log.Name()))
	}
	shown := time.Since(begun)
	_, high := memory(fed.Process.Pid)
	r.note("squeue of a start: %d jobs after %s; until then %s of processor time, peak memory %.0f MiB", r.restJobsQueued, ms(shown),
		ms(cpuTime(fed.Process.Pid)), mib(high))
	r.note("first answer of squeue, whole or not, after %s", ms(first.Sub(begun)))
	if err := awaitReasons(ctx, filepath.Join(dir, "s")); err != nil {
		return fmt.Errorf("%w; the daemon's log ends: %s", err, tail(log.Name()))
	}
	r.note("the first plan has given each of the %d jobs its reason, in squeue and /metrics after %s", r.restJobsQueued, ms(time.Since(begun)))
	time.Sleep(r.restPause)
	used := cpuTime(fed.Process.Pid)
	time.Sleep(r.restPause)
	share := 100 * (cpuTime(fed.Process.Pid) - used).Seconds() / r.restPause.Seconds()
	held := resident(fed.Process.Pid)
	if held == 0 {
		return fmt.Errorf("the daemon has ended; its log ends: %s", tail(log.Name()))
	}
	what := fmt.Sprintf("rest: %d jobs, %d sites of %d nodes: ", r.restJobsQueued, r.restSites, restNodes)
	r.add(row{what: what + "all in squeue after", ours: ms(shown), goal: "<= 6 s", met: shown <= 6*time.Second})
	r.add(row{what: what + "memory held", ours: fmt.Sprintf("%.0f MiB", mib(held)), goal: "<= 1 GB", met: held <= 1e9})
	r.add(row{what: what + "of one processor", ours: fmt.Sprintf("%.1f %%", share), goal: "< 5 %", met: share < 5})
	return r.scrapeAtRest(ctx, what, filepath.Join(dir, "s"))
}

const scrapes = 20

// scrape asks for the metrics as Prometheus does, without compression.
func scrape(ctx context.Context, c *http.Client) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://fed/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("/metrics: %s", resp.Status)
	}
	return text, err
}

func scraper(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
}

// awaitReasons waits until no job is told to wait for no reason: the jobs were put into the store without one, as no daemon would leave them.
func awaitReasons(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for c := scraper(socket); ; time.Sleep(time.Second) {
		text, err := scrape(ctx, c)
		if err != nil {
			return fmt.Errorf("wait until all jobs have a reason: %w", err)
		}
		if bytes.Contains(text, []byte("\nfsub_jobs_waiting{")) && !bytes.Contains(text, []byte("\nfsub_jobs_waiting{reason=\"None\"")) {
			return nil
		}
	}
}

// scrapeAtRest measures what a scrape takes.
func (r *bench) scrapeAtRest(ctx context.Context, what, socket string) error {
	var took []time.Duration
	size := 0
	for c := scraper(socket); len(took) < scrapes; {
		begun := time.Now()
		text, err := scrape(ctx, c)
		if err != nil {
			return err
		}
		size = len(text)
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	median := took[scrapes/2]
	r.add(row{what: what + "/metrics, median", ours: ms(median), goal: "<= 50 ms", met: median <= 50*time.Millisecond})
	r.add(row{what: what + "/metrics, size", ours: fmt.Sprintf("%d KB", size/1000), goal: "<= 300 KB", met: size <= 300_000})
	return nil
}

// fillStore makes the daemon's store, unless it is there already.
func (r *bench) fillStore(ctx context.Context, dir string) error {
	path := filepath.Join(dir, "state", "fed.db")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	s, err := store.Open(ctx, store.Config{Path: path, Volatile: true})
	if err != nil {
		return err
	}
	var next atomic.Int64
	errs := make([]error, 64)
	var wg sync.WaitGroup
	begun := time.Now()
	for w := range errs {
		wg.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= r.restJobsQueued {
					return
				}
				j := restJob(i)
				errs[w] = s.CreateJob(ctx, &j, &sbatch.Payload{Script: "#!/bin/sh\ntrue\n"})
			}
		})
	}
	wg.Wait()
	r.note("%d jobs put into the store in %s", r.restJobsQueued, ms(time.Since(begun)))
	return errors.Join(append(errs, s.Close())...)
}

// restJob is one of the waiting jobs. They are of some shapes and some users, in turns.
func restJob(i int) federation.Job {
	shape, user := i%restShapes, i%restUsers
	return federation.Job{
		User: fmt.Sprintf("user%02d", user), UID: uint32(2000 + user), GID: uint32(2000 + user), SubmitHost: "bench",
		Spec: &sbatch.Spec{
			Name: "bench", WorkDir: "/tmp", MinNodes: 1 + shape%4, CPUsPerTask: 1 + shape%16, MemPerNode: 1000,
			GPUsPerNode: fmt.Sprintf("h100:%d", 1+shape%8), TimeLimit: time.Duration(10+shape) * time.Minute, Output: "slurm-%j.out",
		},
	}
}

// serveRestSites starts the sites, fills each with one job that runs for longer than the benchmark, and writes a configuration that
// names them.
func (r *bench) serveRestSites(ctx context.Context, dir string) error {
	key := []byte(rand.Text())
	if err := os.WriteFile(filepath.Join(dir, "key"), key, 0o600); err != nil {
		return err
	}
	var config bytes.Buffer
	fmt.Fprintf(&config, "federation: bench-rest\nsocket: %s\nstate_dir: %s\nsites:\n", filepath.Join(dir, "s"), filepath.Join(dir, "state"))
	for i := range r.restSites {
		name := fmt.Sprintf("site%03d", i)
		site, err := simsite.New(simsite.Config{
			Name: name, Clock: simsite.RealClock{}, JWTKey: key,
			Nodes: []simsite.NodeConfig{{Names: fmt.Sprintf("n[1-%d]", restNodes), CPUs: 64, Mem: 1 << 19,
				GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 8}}}},
			Partitions: []simsite.PartitionConfig{{Name: "main", Default: true}},
		})
		if err != nil {
			return err
		}
		_, _, err = site.Submit(simsite.Caller{Name: "slurm", Privileged: true}, &wire.JobDesc{
			Name: "fill", UserID: "0", GroupID: "0", Nodes: strconv.Itoa(restNodes), Tasks: restNodes, Shared: wire.Strings{"none"},
			TimeLimit: wire.Num(100 * 60), WorkDir: "/tmp", TRESPerNode: "gres/gpu:8", Environment: wire.Environment{"PATH=/bin"},
			Script: "#!/bin/sh\n#SIM run=100h\n",
		})
		if err != nil {
			return fmt.Errorf("fill %s: %w", name, err)
		}
		socket := filepath.Join(dir, name)
		os.Remove(socket)
		l, err := net.Listen("unix", socket)
		if err != nil {
			return err
		}
		go site.Serve(ctx, l)
		fmt.Fprintf(&config, "- {name: %s, url: \"unix:%s\", key_file: %s, no_associations: true, prices: {gres/gpu: 2.5}}\n",
			name, socket, filepath.Join(dir, "key"))
	}
	return os.WriteFile(filepath.Join(dir, "fed.yaml"), config.Bytes(), 0o600)
}

// awaitQueue asks squeue until it shows every job. It returns when squeue first gave an answer.
func (r *bench) awaitQueue(ctx context.Context, squeue, socket string) (first time.Time, err error) {
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		cmd := exec.CommandContext(ctx, squeue, "-h", "-o", "%i")
		cmd.Env = []string{"PATH=/usr/bin:/bin", "FSUB_SOCKET=" + socket}
		out, err := cmd.Output()
		if err == nil && first.IsZero() {
			first = time.Now()
		}
		if n := strings.Count(string(out), "\n"); err == nil && n >= r.restJobsQueued {
			return first, nil
		} else if time.Since(begun) > 2*time.Minute {
			return first, fmt.Errorf("squeue shows %d of %d jobs after two minutes: %v", n, r.restJobsQueued, err)
		}
	}
}

// resident is the memory that a process holds now, in bytes.
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nVmRSS:")
	var kib int64
	fmt.Sscan(rest, &kib)
	return kib << 10
}

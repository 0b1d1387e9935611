package once

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/testbed/bed"
	"fsub/testbed/daemon"
	"fsub/testbed/postgres"
	"fsub/testbed/program"
	"fsub/testbed/proxy"
	"fsub/testbed/suite"
)

// world is everything that the test starts: sites, proxies, the daemon, clients of two users.
type world struct {
	t        *testing.T
	bed      *bed.Bed
	daemon   *daemon.Daemon
	database *postgres.Server // that several daemons share
	setting
	proxies map[string]*proxy.Proxy
	users   []bed.User
	clients []*http.Client // by user
	seed    uint64
	pace    time.Duration               // between submissions
	lives   time.Duration               // of daemon and controllers, at most, after the first; 0: 7 and 12 seconds
	model   func(*rand.Rand) Submission // what is submitted

	daemonKills     atomic.Int64
	databaseKills   atomic.Int64
	drains          atomic.Int64 // nodes that Slurm drained
	mu              sync.Mutex
	controllerKills []Kill
}

func newWorld(t *testing.T, set setting, seed uint64) *world {
	w := &world{t: t, bed: newBed(t, set.sites), setting: set, proxies: map[string]*proxy.Proxy{}, seed: seed, pace: 125 * time.Millisecond}
	w.model = w.small
	for i, site := range w.sites {
		info, err := w.bed.Site(site)
		if err != nil {
			t.Fatal(err)
		}
		if set.direct {
			continue
		}
		p, err := proxy.New(info.RestURL, seed+uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		w.proxies[site] = p
	}
	w.makeDaemon()
	for _, name := range []string{"alice", "bob"} {
		w.addUser(name)
	}
	return w
}

// makeDaemon starts the daemon with the proxies in place of the sites.
func (w *world) makeDaemon() {
	t := w.t
	dir := w.bed.FedDir()
	if err := program.Put(dir, "fed"); err != nil {
		t.Fatal(err)
	}
	o := daemon.Options{
		Bed: w.bed, Fed: filepath.Join(dir, "fed"), Dir: dir, Federation: "once",
		Edit: func(config map[string]any) {
			if set := w.policy; set != nil {
				config["policy"] = set
			}
			for _, s := range config["sites"].([]any) {
				site := s.(map[string]any)
				if p := w.proxies[site["name"].(string)]; p != nil {
					site["url"] = p.URL()
				}
				if w.direct && site["name"] == "delta" { // whose slurmrestd cannot update nodes
					site["node_command"] = suite.NodeCommand(w.bed, "delta")
				}
				delete(site, "prices") // equal sites: both are used
				maps.Copy(site, w.config)
			}
		},
	}
	if w.daemons > 1 {
		w.database = postgres.Start(t)
		o = suite.Share(w.database, o, w.daemons)
	} else {
		o = suite.Several(t, o)
	}
	d, err := daemon.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Stop()
		if t.Failed() {
			for _, log := range d.LogFiles() {
				keepLog(t, log)
			}
		}
	})
	w.daemon = d
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := d.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := d.AwaitSites(ctx); err != nil {
		t.Fatal(err)
	}
}

// keepLog saves the daemon's log from the bed's end.
func keepLog(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	to := filepath.Join(os.TempDir(), fmt.Sprintf("fsub-%s-%d-%s", t.Name(), os.Getpid(), filepath.Base(path)))
	if os.WriteFile(to, text, 0o644) == nil {
		t.Logf("the daemon's log: %s", to)
	}
}

func (w *world) addUser(name string) {
	u, err := bed.FindUser(name)
	if err != nil {
		w.t.Fatal(err)
	}
	dir := RunDir(w.bed.Home(name))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chown(dir, u.UID, u.UID); err != nil {
		w.t.Fatal(err)
	}
	w.users = append(w.users, u)
	w.clients = append(w.clients, &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return daemon.DialAs(w.daemon.Socket(), u.UID, u.UID)
		},
	}})
}

// lose has the lines to the sites lose some of all requests and replies from now on, and the receipt of each site's next submission: of few jobs, chance may spare all.
func (w *world) lose() {
	for _, p := range w.proxies {
		p.NextSubmission(proxy.LoseReply)
		p.Rate(map[proxy.Fault]float64{proxy.LoseRequest: 0.04, proxy.LoseReply: 0.08, proxy.CutReply: 0.02, proxy.Swallow: 0.004}, true)
	}
}

// loseNothing ends that.
func (w *world) loseNothing() {
	for _, p := range w.proxies {
		p.Rate(nil, false)
	}
}

// rng gives each part of the test its own numbers, so that one part's use does not change another's.
func (w *world) rng(part uint64) *rand.Rand { return rand.New(rand.NewPCG(w.seed, part)) }

// struck waits until the daemon and each controller have been killed: with few jobs, all may be over sooner.
func (w *world) struck(ctx context.Context) {
	for {
		w.mu.Lock()
		killed := map[federation.SiteName]bool{}
		for _, k := range w.controllerKills {
			killed[k.Site] = true
		}
		w.mu.Unlock()
		if w.daemonKills.Load() > 0 && (w.database == nil || w.databaseKills.Load() > 0) && len(killed) == len(w.sites) || !sleep(ctx, 200*time.Millisecond) {
			return
		}
	}
}

// killDaemon kills the daemon again and again, and starts it again at once or a little later.
func (w *world) killDaemon(ctx context.Context) {
	rng := w.rng(100)
	for life := 7 * time.Second; sleep(ctx, between(rng, 200*time.Millisecond, life)); life = cmp.Or(w.lives, life) {
		w.daemon.Kill()
		w.daemonKills.Add(1)
		sleep(ctx, between(rng, 0, time.Second))
		if err := w.daemon.Start(w.t.Context()); err != nil {
			w.t.Errorf("start the daemon again: %v", err)
			return
		}
	}
}

// killDatabase kills the database of several daemons again and again, and starts it again at once or some seconds later.
func (w *world) killDatabase(ctx context.Context) {
	rng := w.rng(101)
	for sleep(ctx, between(rng, 3*time.Second, 20*time.Second)) {
		w.database.Kill()
		w.databaseKills.Add(1)
		sleep(ctx, between(rng, 0, 5*time.Second))
		w.database.Restart()
	}
}

// killController kills a site's slurmctld within its save window, again and again.
func (w *world) killController(ctx context.Context, site string) {
	rng := w.rng(uint64(200 + len(site)*31 + int(site[0])))
	for life := 12 * time.Second; sleep(ctx, between(rng, 2*time.Second, life)); life = cmp.Or(w.lives, life) {
		k := Kill{Site: federation.SiteName(site), From: time.Now()}
		if err := w.bed.KillService(site, "slurmctld"); err != nil {
			w.t.Errorf("kill slurmctld: %v", err)
			return
		}
		sleep(ctx, between(rng, 0, 3*time.Second))
		if err := w.bed.StartService(w.t.Context(), site, "slurmctld"); err != nil {
			w.t.Errorf("start slurmctld: %v", err)
			return
		}
		k.To = time.Now()
		w.mu.Lock()
		w.controllerKills = append(w.controllerKills, k)
		w.mu.Unlock()
	}
}

// resumeNodes does what an operator would: slurmctld drains a node that refuses a job because it knows the ID already. It goes
// on until ctx ends.
func (w *world) resumeNodes(ctx context.Context) {
	for sleep(ctx, 2*time.Second) {
		for _, site := range w.sites {
			out, err := w.bed.Output(ctx, site, "", "sinfo", "-h", "-R", "-o", "%E|%N")
			if err != nil {
				continue // the controller is dead just now
			}
			for line := range strings.Lines(out) {
				reason, nodes, _ := strings.Cut(strings.TrimSpace(line), "|")
				if reason != "Duplicate jobid" {
					continue
				}
				if _, err := w.bed.Output(ctx, site, "", "scontrol", "update", "nodename="+nodes, "state=resume"); err == nil {
					w.drains.Add(1)
				}
			}
		}
	}
}

// registerNodes has every node tell its controller what it runs. A controller that was killed after a job's end, and had not
// saved that, holds the job for running until its node registers again: that may take four minutes. Controllers believe a
// node only some time after their own start.
func (w *world) registerNodes(ctx context.Context) {
	sleep(ctx, 22*time.Second)
	for _, s := range bed.Sites {
		if !slices.Contains(w.sites, s.Name) {
			continue
		}
		for _, node := range s.NodeNames() {
			if err := w.bed.StopService(s.Name, "slurmd:"+node); err != nil {
				w.t.Error(err)
			}
			if err := w.bed.StartService(ctx, s.Name, "slurmd:"+node); err != nil {
				w.t.Error(err)
			}
		}
	}
}

func between(rng *rand.Rand, a, b time.Duration) time.Duration {
	return a + time.Duration(rng.Int64N(int64(b-a)))
}

// submit gets n jobs acknowledged, by both users, at a pace that the sites can follow. It returns every submission that was
// tried, also those that got no answer: they may have been accepted.
func (w *world) submit(ctx context.Context, n int) []*Submission {
	var mu sync.Mutex
	var all []*Submission
	var wg sync.WaitGroup
	rng := w.rng(300)
	for i := range n {
		model := w.model(rng)
		wg.Go(func() {
			tried := w.untilAcknowledged(ctx, i, model)
			mu.Lock()
			all = append(all, tried...)
			mu.Unlock()
		})
		if !sleep(ctx, w.pace) {
			break
		}
	}
	wg.Wait()
	return all
}

// small is a job of one task, that any site could run, or one alone.
func (w *world) small(rng *rand.Rand) Submission {
	return Submission{
		Duration:  between(rng, 100*time.Millisecond, 2*time.Second),
		NoRequeue: rng.IntN(2) == 0,
		Feature:   w.features[rng.IntN(len(w.features))],
	}
}

// untilAcknowledged submits one job until it has an ID. Each try has a token of its own.
func (w *world) untilAcknowledged(ctx context.Context, i int, model Submission) []*Submission {
	var tried []*Submission
	u := i % len(w.users)
	for try := 1; ctx.Err() == nil; try++ {
		s := model
		s.Token, s.User, s.Home = token(i, try), w.users[u].Name, w.bed.Home(w.users[u].Name)
		tried = append(tried, &s)
		if err := post(ctx, w.clients[u], &s); err == nil {
			return tried
		}
		sleep(ctx, 50*time.Millisecond)
	}
	return tried
}

func post(ctx context.Context, c *http.Client, s *Submission) error {
	body, err := json.Marshal(s.Request())
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, "POST", "http://fsub/fed/v1/job", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.GetBody = nil // the transport must not send it twice
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var out v1.SubmitResponse
	if err := json.Unmarshal(text, &out); err != nil || out.JobID == 0 {
		return fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	s.ID = out.JobID
	return nil
}

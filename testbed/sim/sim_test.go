package sim

import (
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/slurm"
	"fsub/testbed/simsite"
)

var (
	seed = flag.Uint64("sim.seed", 0, "play only this seed, with the controller's log")
	jobs = flag.Int("sim.jobs", 0, "jobs of each history")
)

var key = []byte("the key of every simulated site")

// slurmAt makes the real driver, speaking to the simulated site without a socket.
func slurmAt(t *testing.T) func(*simsite.Site) (federation.Driver, error) {
	file := filepath.Join(t.TempDir(), "jwt.key")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	return func(s *simsite.Site) (federation.Driver, error) {
		return slurm.Open(slurm.Config{
			Name: federation.SiteName(s.Name()), URL: "http://" + s.Name(), Federation: "sim", User: "slurm", KeyFile: file,
			RPS: math.MaxInt32, Burst: math.MaxInt32, Transport: http.RoundTripper(s.Transport()),
		})
	}
}

// mapped makes drivers that let the sites give numbers of their own, with a token of SlurmUser or of alice only.
func mapped(t *testing.T, user string) func(*simsite.Site) (federation.Driver, error) {
	file := filepath.Join(t.TempDir(), "jwt.key")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	return func(s *simsite.Site) (federation.Driver, error) {
		return slurm.Open(slurm.Config{
			Name: federation.SiteName(s.Name()), URL: "http://" + s.Name(), Federation: "sim", User: user, KeyFile: file, Mode: federation.Mapped,
			RPS: math.MaxInt32, Burst: math.MaxInt32, Transport: http.RoundTripper(s.Transport()),
			Settle: time.Nanosecond, // what is not lost arrives at once
		})
	}
}

func sites(nodes int, driver func(*simsite.Site) (federation.Driver, error)) []Site {
	make := func(name, gpu, version string, price float64) Site {
		return Site{
			Config: simsite.Config{
				Name: name, Version: version,
				Nodes:      []simsite.NodeConfig{{Names: fmt.Sprintf("%s[1-%d]", name, nodes), CPUs: 64, Mem: 512000, GRES: []federation.GRES{{Name: "gpu", Type: gpu, Total: 8}}}},
				Partitions: []simsite.PartitionConfig{{Name: "main", Default: true}},
				Users:      []simsite.UserConfig{{Name: "alice", UID: 7001, GID: 7001, Accounts: []string{"physics"}}},
				MinJobAge:  2 * time.Minute, JWTKey: key, EnforceAssociations: true,
			},
			Prices: map[string]float64{"gres/gpu": price},
			Driver: driver,
		}
	}
	return []Site{make("a", "h100", "24.11.5", 4), make("b", "a100", "24.11.5", 1), make("c", "h200", "26.05.5", 5)}
}

// play plays one history and prints what it came to.
func play(t *testing.T, cfg Config) Report {
	t.Helper()
	if *seed != 0 {
		cfg.Seed = *seed
		cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if *jobs != 0 {
		cfg.Jobs = *jobs
	}
	cfg.Dir = t.TempDir()
	r, err := Run(t.Context(), cfg)
	t.Logf("seed %d: %+v", cfg.Seed, r)
	if err != nil {
		t.Fatalf("%v\nreplay: go test ./testbed/sim -run '%s' -sim.seed=%d", err, t.Name(), cfg.Seed)
	}
	return r
}

// TestCalm: nothing fails, so every job runs once. It goes through the driver for real sites.
func TestCalm(t *testing.T) {
	r := play(t, Config{Seed: 1, Jobs: 300, Sites: sites(4, slurmAt(t)), MeanGap: 200 * time.Millisecond, Limit: time.Hour})
	if r.Runs != r.Submitted || r.Completed != r.Submitted {
		t.Errorf("%+v: every job should have run once and completed", r)
	}
}

// TestExactlyOnce: the daemon dies at any of its steps, requests and replies are lost, accounting is away for a while. Every job
// that was acknowledged runs exactly once.
func TestExactlyOnce(t *testing.T) {
	sum := playMany(t, Config{Crash: 10 * time.Second, Accounting: time.Minute, Loss: Loss{Request: 0.02, Refused: 0.02, Reply: 0.05}})
	if sum.Runs != sum.Submitted || sum.Completed != sum.Submitted {
		t.Error("not every job ran exactly once and to its end")
	}
}

// TestMapped: the same where the sites give numbers of their own, and where controllers are killed, which give a number twice.
func TestMapped(t *testing.T) {
	jobs := 150
	if os.Getenv("FSUB_FULL") != "" {
		jobs = 1000
	}
	for i, user := range []string{"slurm", "alice"} {
		cfg := Config{Seed: uint64(3000 + i), Jobs: jobs, Sites: sites(4, mapped(t, user)), Mapped: true, MeanGap: 300 * time.Millisecond, Limit: 12 * time.Hour,
			Crash: 10 * time.Second, Accounting: time.Minute, Loss: Loss{Request: 0.02, Refused: 0.02, Reply: 0.05}}
		if r := play(t, cfg); r.Runs != r.Submitted || r.Completed != r.Submitted || r.Crashes == 0 || r.Lost == 0 {
			t.Errorf("%s: not every job ran exactly once and to its end: %+v", user, r)
		}
		cfg.Seed, cfg.Controller, cfg.Sites = cfg.Seed+10, 20*time.Second, sites(4, mapped(t, user))
		if r := play(t, cfg); r.Kills == 0 {
			t.Errorf("%s: no controller was killed", user)
		}
	}
}

// TestArrays: the same with arrays, most of them larger than any site: each task runs exactly once, and no limit is passed.
func TestArrays(t *testing.T) {
	var sum Report
	histories, each := 3, 60
	if os.Getenv("FSUB_FULL") != "" {
		histories, each = 10, 300
	}
	for i := range histories {
		r := play(t, Config{Seed: uint64(2000 + i), Jobs: each, Sites: sites(4, slurmAt(t)), MeanGap: time.Second, MaxTasks: 80, Limit: 24 * time.Hour,
			Crash: 10 * time.Second, Accounting: time.Minute, Loss: Loss{Request: 0.02, Refused: 0.02, Reply: 0.05}})
		sum.Tasks, sum.Parts, sum.Crashes, sum.Lost = sum.Tasks+r.Tasks, sum.Parts+r.Parts, sum.Crashes+r.Crashes, sum.Lost+r.Lost
	}
	if sum.Parts != sum.Tasks || sum.Crashes == 0 || sum.Lost == 0 {
		t.Errorf("%+v: each task should have been a job of its own, with faults", sum)
	}
}

// TestKilledControllers: besides all that, controllers are killed within their save window: they forget jobs that they have
// acknowledged, starts and ends. None is forgotten, and what runs again does so by the requeue rules, on record.
func TestKilledControllers(t *testing.T) {
	sum := playMany(t, Config{Crash: 20 * time.Second, Controller: 20 * time.Second, Accounting: time.Minute, Loss: Loss{Request: 0.01, Refused: 0.01, Reply: 0.03}})
	if sum.Kills == 0 {
		t.Error("no controller was killed")
	}
}

// playMany plays many histories, 100,000 jobs in all if there is time, and adds up what they came to.
func playMany(t *testing.T, cfg Config) (sum Report) {
	histories, each := 5, 500
	if os.Getenv("FSUB_FULL") != "" {
		histories, each = 50, 2000
	}
	for i := range histories {
		c := cfg
		c.Seed, c.Jobs, c.Sites, c.MeanGap, c.Limit = uint64(1000+i), each, sites(16, slurmAt(t)), 80*time.Millisecond, 12*time.Hour
		r := play(t, c)
		sum.Submitted += r.Submitted
		sum.Completed += r.Completed
		sum.Runs += r.Runs
		sum.Reruns += r.Reruns
		sum.SiteReruns += r.SiteReruns
		sum.Crashes += r.Crashes
		sum.Kills += r.Kills
		sum.Lost += r.Lost
		if *seed != 0 {
			break
		}
	}
	t.Logf("all: %+v", sum)
	if sum.Crashes == 0 || sum.Lost == 0 {
		t.Error("a history without faults proves nothing")
	}
	return sum
}

// TestReplay: equal seeds give equal histories.
func TestReplay(t *testing.T) {
	cfg := Config{Seed: 7, Jobs: 200, Sites: sites(2, slurmAt(t)), MeanGap: 150 * time.Millisecond, Limit: 12 * time.Hour,
		Crash: 10 * time.Second, Controller: 20 * time.Second, Loss: Loss{Reply: 0.05}}
	if a, b := play(t, cfg), play(t, cfg); a != b {
		t.Errorf("seed 7 gave %+v and then %+v", a, b)
	}
}

// TestRequeues: users requeue what runs while the daemon dies and lines fail, at sites that can requeue and at sites where the federation has
// to. Each requeue makes a job run once more at most, and none gets lost on its way.
func TestRequeues(t *testing.T) {
	histories, each := 2, 100
	if os.Getenv("FSUB_FULL") != "" {
		histories, each = 20, 500
	}
	for name, version := range map[string]string{"site": "26.05.5", "federation": "24.11.5"} {
		t.Run(name, func(t *testing.T) {
			var sum Report
			for i := range histories {
				all := sites(4, slurmAt(t))
				for i := range all {
					all[i].Config.Version = version
				}
				r := play(t, Config{Seed: uint64(3000 + i), Jobs: each, Sites: all, MeanGap: time.Second, Limit: 24 * time.Hour, Requeue: 5 * time.Second,
					Crash: 10 * time.Second, Accounting: time.Minute, Loss: Loss{Request: 0.02, Refused: 0.02, Reply: 0.05}})
				sum.Asked, sum.Reruns, sum.Crashes, sum.Lost = sum.Asked+r.Asked, sum.Reruns+r.Reruns, sum.Crashes+r.Crashes, sum.Lost+r.Lost
				if r.Reruns > r.Asked {
					t.Errorf("%d runs after the first, %d requeues", r.Reruns, r.Asked)
				}
			}
			if sum.Asked < 5*histories || sum.Reruns < sum.Asked/2 || sum.Crashes == 0 || sum.Lost == 0 {
				t.Errorf("%+v: most requeues should have had an effect, with faults", sum)
			}
		})
	}
}

// TestRented: two of the sites rent their machines, and often have none left: they give jobs back, and take arrays task by task. Every job and every
// task runs exactly once all the same, whatever dies and is lost.
func TestRented(t *testing.T) {
	histories, each := 2, 120
	if os.Getenv("FSUB_FULL") != "" {
		histories, each = 20, 500
	}
	for _, tasks := range []int{0, 12} {
		t.Run(fmt.Sprintf("%d tasks", tasks), func(t *testing.T) {
			for i := range histories {
				var rented []*Rented
				open := slurmAt(t)
				rent := func(price decision.Dollars) func(*simsite.Site) (federation.Driver, error) {
					return func(s *simsite.Site) (federation.Driver, error) {
						d, err := open(s)
						r := &Rented{Driver: d, Price: price, StockOut: 0.3, Now: s.Now, RNG: rand.New(rand.NewPCG(uint64(i), uint64(len(rented))))}
						rented = append(rented, r)
						return r, err
					}
				}
				all := sites(4, slurmAt(t))
				all[1].Driver, all[2].Driver = rent(0.5), rent(0.7)
				r := play(t, Config{Seed: uint64(4000 + i), Jobs: each / max(tasks/4, 1), Sites: all, MeanGap: time.Second, MaxTasks: tasks, Limit: 24 * time.Hour,
					Crash: 10 * time.Second, Accounting: time.Minute, Loss: Loss{Request: 0.02, Refused: 0.02, Reply: 0.05}})
				returned := rented[0].Returned + rented[1].Returned
				if returned == 0 || r.Crashes == 0 || r.Lost == 0 || r.Reruns != 0 || r.Runs < r.Submitted || r.Completed != r.Submitted {
					t.Errorf("%d jobs were given back: %+v", returned, r)
				}
				t.Logf("%d jobs were given back", returned)
			}
		})
	}
}

package tree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fsub/testbed/bed"
)

// ours runs one of our commands as a user in the login.
func ours(t testing.TB, user string, args ...string) string {
	t.Helper()
	var out strings.Builder
	err := world.Bed.Exec(context.Background(), bed.Cmd{Site: bed.Login, User: user, Args: append([]string{filepath.Join(world.Bin, args[0])}, args[1:]...),
		Env: []string{"FSUB_SOCKET=" + world.Daemon.Socket(), "PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out.String())
	}
	return strings.TrimSpace(out.String())
}

// waiting is a job as the site's squeue has it.
type waiting struct{ priority, nice int64 }

func (p *place) waiting(name string) (waiting, string) {
	out, err := world.Bed.Output(context.Background(), p.site, "", "squeue", "-h", "-n", name, "-t", "PD", "-o", "%Q %y")
	f := strings.Fields(out)
	if err != nil || len(f) != 2 {
		return waiting{}, fmt.Sprintf("%s does not wait at %s: %v %q; ", name, p.site, err, out)
	}
	a, _ := strconv.ParseInt(f[0], 10, 64)
	b, _ := strconv.ParseInt(f[1], 10, 64)
	return waiting{a, b}, ""
}

// Bob has used nothing in the federation and much at this site, alice the other way round: bob's job comes first here, though the site would
// take alice's. Her --nice is shown as she gave it.
func TestSiteFollowsOurOrder(t *testing.T) {
	world.Need(t)
	at, busy := sites[:1], "20"
	if full() {
		at, busy = sites, "40"
	}
	for _, site := range at {
		t.Run(site, func(t *testing.T) {
			p := &place{t, site}
			p.usage(map[string]float64{"bob": 1e9})
			err := world.StartDaemon(t.Context(), func(config map[string]any) {
				config["priority"] = map[string]any{"period": "1s"}
				var only []any
				for _, s := range config["sites"].([]any) {
					if s.(map[string]any)["name"] == site {
						only = append(only, s)
					}
				}
				config["sites"] = only
				os.RemoveAll(config["state_dir"].(string))
			})
			if err == nil {
				err = world.Daemon.AwaitSites(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			defer world.Daemon.Stop()
			submit := func(user string, args ...string) string {
				return ours(t, user, append([]string{"fsub", "--parsable", "-o/dev/null", "-D/tmp", "-N4", "--exclusive", "-t1"}, args...)...)
			}
			ours(t, "alice", "fsub", "-W", "-o/dev/null", "-D/tmp", "-N4", "--exclusive", "-t1", "--wrap", "sleep 2")
			full := p.as("carol", "sbatch", "--parsable", "-o/dev/null", "-D/tmp", "-N4", "--exclusive", "-t1", "--wrap", "sleep "+busy)
			p.eventually("a full site", func() string {
				if out := p.as("", "squeue", "-h", "-j", full, "-o", "%T"); out != "RUNNING" {
					return out
				}
				return ""
			})
			a := submit("alice", "-Jours-alice", "--nice=7", "--wrap", "sleep 3")
			b := submit("bob", "-Jours-bob", "--wrap", "sleep 3")
			p.eventually("our order", func() string {
				alice, no := p.waiting("ours-alice")
				bob, no2 := p.waiting("ours-bob")
				if no += no2; no != "" {
					return no
				}
				if alice.priority+alice.nice <= bob.priority+bob.nice {
					t.Fatalf("the site itself would not take alice's first: %+v, bob's %+v", alice, bob)
				}
				if bob.priority <= alice.priority {
					return fmt.Sprintf("alice's job has %+v there, bob's %+v", alice, bob)
				}
				t.Logf("%s: by itself alice's %d, bob's %d; now alice's %+v, bob's %+v", site, alice.priority+alice.nice-7, bob.priority+bob.nice, alice, bob)
				return ""
			})
			if out := ours(t, "alice", "squeue", "-h", "-o", "%u %y"); !strings.Contains(out, "alice 7") || !strings.Contains(out, "bob 0") {
				t.Errorf("squeue shows nice %q", out)
			}
			if out := ours(t, "alice", "scontrol", "show", "job", a); !strings.Contains(out, "Nice=7 ") {
				t.Errorf("scontrol shows %s", out)
			}
			start := map[string]string{}
			p.eventually("both have run", func() string {
				for _, id := range []string{a, b} {
					out := ours(t, "alice", "sacct", "-X", "-n", "-P", "-a", "-j", id, "-o", "state,start")
					state, at, _ := strings.Cut(out, "|")
					if state != "COMPLETED" {
						return out
					}
					start[id] = at
				}
				return ""
			})
			if start[b] >= start[a] {
				t.Errorf("%s: bob's job began at %s, alice's at %s", site, start[b], start[a])
			}
		})
	}
}

// usage has users have used so much at the site.
func (p *place) usage(of map[string]float64) {
	p.Helper()
	if err := world.Bed.StopService(p.site, "slurmctld"); err != nil {
		p.Fatal(err)
	}
	used := map[uint32]float64{}
	for _, s := range p.associations() {
		used[s.id] = of[s.user]
	}
	p.setUsage(used)
	if err := world.Bed.StartService(context.Background(), p.site, "slurmctld"); err != nil {
		p.Fatal(err)
	}
	p.eventually("all nodes", func() string {
		if out := p.as("", "sinfo", "-h", "-o", "%T"); out != "idle" {
			return out
		}
		return ""
	})
}

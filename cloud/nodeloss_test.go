package cloud_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cloud/cloudtest"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/sbatch"
)

// lossy is a submission of a job on n nodes that does as it is told when one is lost.
func lossy(n int, then string) func(*federation.Submission) {
	return func(s *federation.Submission) {
		s.Job.Spec.MinNodes, s.Job.Spec.MaxNodes, s.Job.Spec.Fed = n, n, &sbatch.Fed{OnNodeLoss: then}
	}
}

// named is the living machine of a name.
func (w *world) named(name string) provider.Instance {
	w.Helper()
	for _, m := range w.cloud.Living() {
		if m.Name == name {
			return m
		}
	}
	w.Fatalf("no machine %s lives", name)
	return provider.Instance{}
}

// works waits until a job has done some seconds of its work.
func (w *world) works(id federation.JobID, done time.Duration) {
	w.Helper()
	w.until("the job works", time.Hour, func() bool { return w.cloud.Job(id).Done >= done })
}

// TestGangWaitsForReplacement: a gang of four loses a machine, each in turn, in each way in which one may go. The others are kept, one machine is rented, and the script begins again
// with each node under the rank that it had.
func TestGangWaitsForReplacement(t *testing.T) {
	for name, lose := range map[string]func(w *world, m provider.Instance){
		"failed":   func(w *world, m provider.Instance) { w.cloud.Kill(m.ID, "Server.InternalError") },
		"unsaid":   func(w *world, m provider.Instance) { w.cloud.Kill(m.ID, "") },
		"taken":    func(w *world, m provider.Instance) { w.cloud.Kill(m.ID, "Server.SpotInstanceTermination") },
		"notified": func(w *world, m provider.Instance) { w.cloud.Preempt(m.ID, 2*time.Minute) },
	} {
		for rank := range 4 {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(w *world) {
					w.cfg.Pools[0].Max = 4 // the lost one must have ended before there is room for another
					w.ready()
					id := w.submit("work 100", lossy(4, "wait"))
					w.works(id, 10*time.Second)
					before := w.cloud.Job(id)
					lost := w.named(before.Names[rank])
					kept := slices.DeleteFunc(w.cloud.Living(), func(m provider.Instance) bool { return m.ID == lost.ID })
					lose(w, lost)
					j := w.wants(id, federation.Completed, 2*time.Hour)
					after := w.cloud.Job(id)
					if after.Starts != 2 || after.Restarts != 1 || j.Restarts != 1 || after.Nodes != 4 {
						t.Errorf("%+v; restarts %d", after, j.Restarts)
					}
					if len(w.cloud.Machines()) != 5 {
						t.Errorf("%d machines were rented for a gang of 4 that lost one", len(w.cloud.Machines()))
					}
					for _, m := range kept {
						if !slices.ContainsFunc(w.cloud.Living(), func(one provider.Instance) bool { return one.ID == m.ID }) {
							t.Errorf("%s was given back", m.Name)
						}
					}
					if !slices.Equal(after.Names, before.Names) {
						t.Errorf("ranks were %q, and are %q", before.Names, after.Names)
					}
					if len(j.Losses) != 1 || j.Losses[0].Node != lost.Name || j.Losses[0].By != lost.Name || j.Losses[0].Why == "" {
						t.Errorf("losses: %+v", j.Losses)
					}
					if len(j.Earlier) != 1 || j.Earlier[0].State != federation.NodeFail && j.Earlier[0].State != federation.Preempted || j.Earlier[0].Cost == 0 {
						t.Errorf("runs before: %+v", j.Earlier)
					}
				})
			})
		}
	}
}

// TestGangWaitsAnotherName: where there is room for another machine before the lost one has ended, it comes at once, under the old rank and another name.
func TestGangWaitsAnotherName(t *testing.T) {
	bubble(t, func(w *world) {
		w.cloud.Before = func(op string, _ *provider.Request) error {
			if op == "Delete" { // the silent machine stays in the listing
				return errLost
			}
			return nil
		}
		w.ready()
		id := w.submit("work 900", lossy(3, "wait"))
		w.works(id, 10*time.Second)
		before := w.cloud.Job(id)
		w.cloud.Freeze(w.named(before.Names[1]).ID)
		j := w.wants(id, federation.Completed, 2*time.Hour)
		after := w.cloud.Job(id)
		if len(after.Names) != 3 || after.Names[0] != before.Names[0] || after.Names[2] != before.Names[2] || after.Names[1] == before.Names[1] {
			t.Errorf("ranks were %q, and are %q", before.Names, after.Names)
		}
		if len(j.Losses) != 1 || j.Losses[0].By != after.Names[1] {
			t.Errorf("losses: %+v, of %q", j.Losses, after.Names)
		}
	})
}

// TestGangWaitsThroughFaults: machines go at random, replacements do not come up or die, more go while the job waits, and the daemon is killed again and again. The job ends, never
// runs twice at once, and loses no more than its checkpoints.
func TestGangWaitsThroughFaults(t *testing.T) {
	for seed := range uint64(30) {
		bubble(t, func(w *world) {
			rng := rand.New(rand.NewPCG(seed, 31))
			w.cfg.Pools[0].Max = 4 + rng.IntN(3)
			made := 0
			w.cloud.NoBoot = func(*provider.Request, string) bool { made++; return made > 4 && rng.IntN(4) == 0 }
			w.ready()
			s := w.job("work 200", lossy(4, "wait:02:00:00"))
			if _, err := w.driver.Submit(context.Background(), s); err != nil {
				t.Fatal(err)
			}
			ended := func() bool {
				j := w.lookup(s.Job.ID)
				return j.State.Ended()
			}
			for range 12 {
				time.Sleep(time.Duration(rng.IntN(90)) * time.Second)
				if ended() {
					break
				}
				if living := w.cloud.Living(); len(living) > 1 && rng.IntN(2) == 0 {
					w.cloud.Kill(living[rng.IntN(len(living))].ID, "Server.InternalError")
				}
				if rng.IntN(2) == 0 {
					w.stop()
					time.Sleep(time.Duration(rng.IntN(30)) * time.Second)
					w.ready()
				}
			}
			w.until("the job has ended", 6*time.Hour, ended)
			j := w.lookup(s.Job.ID)
			if j.State != federation.Completed && !j.Returned && j.State != federation.BootFail && j.State != federation.NodeFail {
				t.Errorf("seed %d: %+v", seed, j)
			}
			if j.State == federation.NodeFail && !strings.Contains(j.Detail, "is gone") && len(j.Losses) == 0 {
				t.Errorf("seed %d: it has ended though it waits: %+v", seed, j)
			}
			w.until("nothing is left", time.Hour, func() bool { return len(w.cloud.Living()) == 0 })
		})
	}
}

// TestGangWaitIsOver: when no other machine comes in time the job is given back, and the machines that were kept for it go.
func TestGangWaitIsOver(t *testing.T) {
	bubble(t, func(w *world) {
		w.ready()
		id := w.submit("work 100", lossy(4, "wait:20"))
		w.works(id, 10*time.Second)
		w.cloud.Change(func(p *cloudtest.Provider) {
			p.Before = func(op string, _ *provider.Request) error {
				if op == "Create" {
					return &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeOffering, Text: "none left"}
				}
				return nil
			}
		})
		began := time.Now()
		w.cloud.Kill(w.named(w.cloud.Job(id).Names[2]).ID, "Server.InternalError")
		w.wants(id, federation.Pending, 5*time.Minute)
		time.Sleep(5 * time.Minute)
		other := w.submit("sleep 5", lossy(2, "")) // while the cloud is not to be asked, those behind may have what is free
		time.Sleep(10 * time.Minute)
		if n := len(w.cloud.Living()); n != 3 {
			t.Errorf("%d machines are kept of a gang of 4", n)
		}
		if ran := w.cloud.Job(other); ran.Starts != 0 {
			t.Errorf("another job got the kept machines: %+v", ran)
		}
		j := w.wants(id, federation.BootFail, time.Hour)
		if took := time.Since(began); !j.Returned || took < 20*time.Minute || took > 25*time.Minute || !strings.Contains(j.Detail, "none has come") {
			t.Errorf("after %s: %+v", took, j)
		}
		w.until("nothing is left", 10*time.Minute, func() bool { return len(w.cloud.Living()) == 0 })
	})
}

// TestGangWaitCancelled: a job that is cancelled, or held, while it waits lets its machines go; nobody else gets them before.
func TestGangWaitCancelled(t *testing.T) {
	for name, act := range map[string]func(w *world, ref federation.JobRef) error{
		"cancel": func(w *world, ref federation.JobRef) error { return w.driver.Cancel(context.Background(), ref, nil) },
		"hold":   func(w *world, ref federation.JobRef) error { return w.driver.Hold(context.Background(), ref) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Pools[0].Max = 3
				w.ready()
				id := w.submit("work 100", lossy(3, "wait"))
				w.works(id, 10*time.Second)
				w.cloud.Change(func(p *cloudtest.Provider) { p.NoBoot = func(*provider.Request, string) bool { return true } })
				w.cloud.Kill(w.named(w.cloud.Job(id).Names[1]).ID, "Server.InternalError")
				w.wants(id, federation.Pending, 5*time.Minute)
				other := w.submit("sleep 5", lossy(2, ""))
				time.Sleep(4 * time.Minute)
				if j := w.lookup(other); j.State != federation.Pending {
					t.Errorf("another job has the kept machines: %+v", j)
				}
				if err := act(w, federation.JobRef{ID: id}); err != nil {
					t.Fatal(err)
				}
				w.wants(other, federation.Completed, 5*time.Minute)
			})
		})
	}
}

// TestStartingGangKeepsOthers: a machine of a gang that does not come up is replaced, and the others are kept for it. Nobody else gets them meanwhile.
func TestStartingGangKeepsOthers(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Idle = 10 * time.Second
		made := 0
		w.cloud.NoBoot = func(*provider.Request, string) bool { made++; return made == 3 }
		w.ready()
		id := w.submit("sleep 30", lossy(4, ""))
		j := w.wants(id, federation.Completed, time.Hour)
		if n := len(w.cloud.Machines()); n != 5 {
			t.Errorf("%d machines were rented for a gang of 4 of which one did not come up", n)
		}
		if ran := w.cloud.Job(id); ran.Starts != 1 || ran.Restarts != 0 {
			t.Errorf("%+v", ran)
		}
		if len(j.Losses) != 1 || !strings.Contains(j.Losses[0].Why, "did not say hello") || j.Losses[0].By == "" {
			t.Errorf("losses: %+v", j.Losses)
		}
	})
}

// TestGangShrinks: a job that asks for it goes on without a machine that is lost, and pays no more for it; without the machine of its script none does.
func TestGangShrinks(t *testing.T) {
	for name, lose := range map[string]func(w *world, m provider.Instance){
		"failed":   func(w *world, m provider.Instance) { w.cloud.Kill(m.ID, "Server.InternalError") },
		"notified": func(w *world, m provider.Instance) { w.cloud.Preempt(m.ID, 30*time.Second) },
		"silent":   func(w *world, m provider.Instance) { w.cloud.Freeze(m.ID) },
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(w *world) {
					w.ready()
					id := w.submit("work 900", lossy(4, "shrink"))
					w.works(id, 100*time.Second)
					before := w.cloud.Job(id)
					lose(w, w.named(before.Names[2]))
					w.until("its end is known", 10*time.Minute, func() bool { return len(w.lookup(id).Losses) == 1 })
					if restarted {
						w.stop()
						w.ready()
					}
					if j := w.lookup(id); j.State != federation.Running || j.NumNodes != 3 || j.PricePerHour.Dollars() != 3 || strings.Contains(j.Nodes, "-3") && !strings.Contains(j.Nodes, "-4") {
						t.Errorf("it has %s, %d nodes at %s: %+v", j.Nodes, j.NumNodes, j.PricePerHour.Rate(), j)
					}
					j := w.wants(id, federation.Completed, time.Hour)
					l := j.Losses[0]
					if ran := w.cloud.Job(id); ran.Starts != 1 || j.Restarts != 0 || len(w.cloud.Machines()) != 4 || !l.Shrunk || l.Node != before.Names[2] || l.By != "" {
						t.Errorf("%+v; %d machines; %+v", ran, len(w.cloud.Machines()), l)
					}
					want := 4*l.At.Sub(j.Start).Hours() + 3*j.End.Sub(l.At).Hours()
					if got := j.Cost.Dollars(); got < want-0.001 || got > want+0.001 {
						t.Errorf("it cost $%.4f, not $%.4f", got, want)
					}
				})
			})
		}
	}
	t.Run("head", func(t *testing.T) {
		bubble(t, func(w *world) {
			w.ready()
			id := w.submit("work 900", lossy(4, "shrink"))
			w.works(id, 100*time.Second)
			w.cloud.Kill(w.named(w.cloud.Job(id).Names[0]).ID, "Server.InternalError")
			if j := w.wants(id, federation.NodeFail, 10*time.Minute); len(j.Losses) != 0 {
				t.Errorf("%+v", j)
			}
		})
	})
}

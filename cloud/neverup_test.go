package cloud_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
)

// down are the reasons of nodes that could be rented and are not to be asked for now.
func (w *world) down() (why []string) {
	w.Helper()
	o, err := w.driver.Observe(context.Background())
	if err != nil {
		w.Fatal(err)
	}
	for _, n := range o.Nodes {
		if n.Reason != "" {
			why = append(why, n.Reason)
		}
	}
	return why
}

// TestConsoleTells: what the console of a machine that never says a word ends with is why its job did not start, and why its offering is left alone. It is asked
// once for a gang, whether the machines are silent or have switched themselves off; a console that cannot be read changes nothing else.
func TestConsoleTells(t *testing.T) {
	const console = "[  12.5] cloud-init[900]: curl: (6) Could not resolve host: login1\r\n\x1b[0;32m[  OK  ]\x1b[0m Reached target Power-Off.\n"
	for name, c := range map[string]struct {
		ends bool
		said error
	}{"silent": {}, "off": {ends: true}, "unread": {said: &provider.Error{Kind: provider.KindDenied, Scope: provider.ScopeCloud, Text: "no right to"}}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cloud.NoBoot = func(*provider.Request, string) bool { return true }
				w.cloud.Said = func(provider.InstanceID) (string, error) {
					if c.said != nil {
						return "", c.said
					}
					return console, nil
				}
				w.ready()
				id := w.submit("sleep 5", func(s *federation.Submission) { s.Job.Spec.MinNodes, s.Job.Spec.MaxNodes = 2, 2 })
				w.until("machines are there", time.Minute, func() bool { return len(w.cloud.Machines()) == 2 })
				if c.ends {
					for _, m := range w.cloud.Machines() {
						w.cloud.Kill(m.ID, "Client.InstanceInitiatedShutdown")
					}
				}
				w.until("the offering is left alone", time.Hour, func() bool { return len(w.down()) > 0 })
				told := c.said == nil
				if why := strings.Join(w.down(), "\n"); strings.Contains(why, "Could not resolve host: login1") != told || strings.Contains(why, "Power-Off") || strings.Contains(why, "\x1b") {
					t.Errorf("nodes are down for\n%s", why)
				}
				if n := w.cloud.Calls("Console", time.Time{}); n != 1 {
					t.Errorf("%d consoles were read for a gang of 2", n)
				}
				j := w.wants(id, federation.BootFail, 4*time.Hour)
				if strings.Contains(j.Detail, "Could not resolve host: login1") != told || !strings.Contains(j.Detail, "sky-main-") {
					t.Errorf("the job says %q", j.Detail)
				}
			})
		})
	}
}

// TestBrokenGPUs: a machine on which a GPU does not answer gets no job and is ended; the job runs on another one. Where all are so, few are tried.
func TestBrokenGPUs(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		bubble(t, func(w *world) {
			broken := ""
			w.cloud.Broken = func(_ *provider.Request, name string) int {
				if broken == "" {
					broken = name
				}
				if name == broken {
					broken = "-"
					return 1
				}
				return 0
			}
			w.ready()
			w.wants(w.submit("sleep 5", nil), federation.Completed, time.Hour)
			if n := len(w.cloud.Machines()); n != 2 || len(w.cloud.Living()) != 1 {
				t.Errorf("%d machines were made, %d live", n, len(w.cloud.Living()))
			}
		})
	})
	t.Run("all", func(t *testing.T) {
		bubble(t, func(w *world) {
			w.cloud.Broken = func(*provider.Request, string) int { return 1 }
			w.ready()
			j := w.wants(w.submit("sleep 5", nil), federation.BootFail, 2*time.Hour)
			if n := len(w.cloud.Machines()); n != 3 || !strings.Contains(j.Detail, "0 of its 1 GPUs answer") {
				t.Errorf("%d machines were tried; the job says %q", n, j.Detail)
			}
			w.until("nothing is left", 10*time.Minute, func() bool { return len(w.cloud.Living()) == 0 })
			if ran := w.cloud.Job(30_000_001); ran.Starts != 0 {
				t.Errorf("it ran %d times", ran.Starts)
			}
		})
	})
}

// TestRefusedAsItBoots: what a cloud finds out only after it has answered counts like a refusal, with what to do, until a machine comes up.
func TestRefusedAsItBoots(t *testing.T) {
	bubble(t, func(w *world) {
		w.cloud.NoBoot = func(*provider.Request, string) bool { return true }
		w.ready()
		w.submit("sleep 5", nil)
		w.until("a machine is there", time.Minute, func() bool { return len(w.cloud.Machines()) == 1 })
		w.cloud.Refuse(w.cloud.Machines()[0].ID, &provider.Error{Kind: provider.KindKey, Scope: provider.ScopeRegion, Code: "Client.InvalidKMSKey.InvalidState", Text: "enable the key"})
		w.until("it is remembered", 5*time.Minute, func() bool { return strings.Contains(fmt.Sprint(w.down()), "enable the key") })
		if n := w.cloud.Calls("Console", time.Time{}); n != 0 || !strings.Contains(fmt.Sprint(w.down()), "FedCloudDenied") {
			t.Errorf("%d consoles read; %v", n, w.down())
		}
		time.Sleep(50 * time.Minute)
		if n := len(w.cloud.Machines()); n != 1 {
			t.Errorf("%d machines were made within an hour", n)
		}
	})
}

// TestNobodyEverCameUp: where no machine of a site has ever reached the daemon, a machine that does not come up is told to be one that could not, with the
// address; after the first one has, also under a later daemon, that is not what is guessed.
func TestNobodyEverCameUp(t *testing.T) {
	const guess = "no machine of this site has reached the daemon yet: is https://login1.example.org:6831 open to them?"
	bubble(t, func(w *world) {
		w.cfg.Boot.URL = "https://login1.example.org:6831"
		silent := true
		w.cloud.NoBoot = func(*provider.Request, string) bool { return silent }
		w.ready()
		id := w.submit("sleep 5", nil)
		if j := w.wants(id, federation.BootFail, 2*time.Hour); !strings.Contains(j.Detail, guess) {
			t.Errorf("the first job failed for %q", j.Detail)
		}
		silent = false
		w.wants(w.submit("sleep 5", nil), federation.Completed, 4*time.Hour)
		w.until("nothing is left", time.Hour, func() bool { return len(w.cloud.Living()) == 0 })
		w.stop()
		time.Sleep(time.Hour)
		silent = true
		w.ready()
		if j := w.wants(w.submit("sleep 5", nil), federation.BootFail, 4*time.Hour); j.Detail == "" || strings.Contains(j.Detail, guess) {
			t.Errorf("a later job failed for %q", j.Detail)
		}
	})
}

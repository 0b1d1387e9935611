package rented

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/azure"
)

// TestGangElsewhere is TestGangWaits and TestGangShrinks at Azure and Google: one each, and all with FSUB_FULL.
func TestGangElsewhere(t *testing.T) {
	for _, cloud := range []string{"azure", "google"} {
		for what, script := range map[string]string{"wait": waiting, "shrink": shrinking} {
			t.Run(cloud+"-"+what, func(t *testing.T) {
				if os.Getenv("FSUB_FULL") == "" && (cloud == "azure") != (what == "wait") {
					t.Skip("SKIPPED: the other of wait and shrink is tried here: FSUB_FULL=1 tries both")
				}
				t.Parallel()
				var w *world
				var kill func(string) error
				var args []string
				var made func() int // machines that there were
				if cloud == "azure" {
					w = newWorld(t, config{kind: "azure", pool: "max: 4, idle: 5s"})
					c := w.rents.(*azure.Cloud)
					kill, made = c.Kill, func() int { return len(c.Machines()) }
				} else {
					google, c := newGoogle(t)
					w, kill, made, args = google, c.Kill, func() int { return len(c.Instances()) }, []string{"--gres=gpu:l4:1"}
				}
				w.start()
				id := w.fsub(script, args...)
				nodes := w.lose(id, 90*time.Second, kill)
				if what == "shrink" {
					w.eventually("the loss is told", time.Minute, func() string {
						if rec, err := w.job(id); err != nil || len(rec.Attempts) == 0 || len(rec.Attempts[0].Losses) == 0 {
							return fmt.Sprint(rec, err)
						}
						return ""
					})
					if err := os.WriteFile(filepath.Join(w.work, fmt.Sprintf("stop-%d", id)), nil, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				rec := w.await(id, 3*time.Minute)
				restarts, machines, want := 1, 4, nodes
				if what == "shrink" {
					restarts, machines, want = 0, 3, []string{nodes[0], nodes[2]}
				}
				if again := w.ranks(id, "1"); rec.Job.State != federation.Completed || rec.Job.Restarts != restarts || made() != machines || !slices.Equal(again, want) {
					t.Errorf("it is %s after %d restarts, of %d machines, with the ranks %v, want %v\n%s", rec.Job.State, rec.Job.Restarts, made(), again, want, w.shown(id))
				}
			})
		}
	}
}

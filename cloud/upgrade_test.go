package cloud_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/store"
)

// earlier is what a driver has left in the records at schema version 5, with its jobs: one that has ended, one that was requeued and waits, one that runs,
// and one that waits for a machine which the cloud has been asked for.
const earlier = "../federation/store/testdata/earlier/v5"

const (
	wasEnded federation.JobID = 30_000_000 + iota
	wasRequeued
	wasRunning
	wasWaiting
)

// TestEarlierBooks: a driver goes on from the records of an older version.
func TestEarlierBooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fed.db")
	fill(t, path)
	var old struct {
		At       time.Time
		SiteJobs map[federation.JobID]federation.SiteJob
		Pools    []driver.PoolStatus
	}
	text, err := os.ReadFile(earlier + ".json")
	if err == nil {
		err = json.Unmarshal(text, &old)
	}
	if err != nil {
		t.Fatal(err)
	}
	bubble(t, func(w *world) {
		books, err := store.Open(context.Background(), store.Config{Path: path, Volatile: true})
		if err != nil {
			t.Fatal(err)
		}
		defer books.Close()
		defer func() { w.stop() }()
		w.cfg.Store, w.cfg.LogDir, w.cfg.Pools[0].Max = books, t.TempDir(), 2
		w.cloud.NoBoot = func(*provider.Request, string) bool { return true }
		time.Sleep(time.Until(old.At))
		w.remake(books)
		w.ready()
		for id, was := range old.SiteJobs {
			is := w.lookup(id)
			if was.State == federation.Pending { // with which reason is said anew
				was.Reason, is.Reason = "", ""
			}
			if is.State != was.State || is.Reason != was.Reason || !is.Start.Equal(was.Start) || !is.End.Equal(was.End) || is.ExitStatus != was.ExitStatus ||
				is.Restarts != was.Restarts || is.PricePerHour != was.PricePerHour || is.Key != was.Key || is.Nodes != was.Nodes {
				t.Errorf("job %d was\n%+v\nand is\n%+v", id, was, is)
			}
		}
		// Each of two machines is rounded.
		if p := w.driver.Pools()[0]; p.Month < old.Pools[0].Month-2 || p.Month > old.Pools[0].Month+0.01*federation.Dollar {
			t.Errorf("spent %v in this month, and it was %v", p.Month, old.Pools[0].Month)
		}
		usage, err := w.driver.Measured(context.Background(), []federation.JobRef{{ID: wasEnded}})
		if err != nil || usage[wasEnded][0].User != 2*time.Second {
			t.Errorf("usage %+v, %v", usage, err)
		}
		w.playOn(old.SiteJobs[wasRunning].Start)
	})
}

// playOn speaks for the machines until all jobs have ended.
func (w *world) playOn(start time.Time) {
	w.Helper()
	end := func(m cloud.MachineID) {
		w.Helper()
		run := w.poll(m, agentapi.Poll{}).Runs[0].Run
		w.report(m, agentapi.Status{Run: run, State: agentapi.RunRunning, Start: time.Now()})
		w.report(m, agentapi.Status{Run: run, State: agentapi.RunEnded, End: time.Now()})
		w.poll(m, agentapi.Poll{})
	}
	time.Sleep(time.Minute) // the cloud is asked again
	machines := w.let()
	if len(machines) != 2 || machines[0] != "sky:2.0" || machines[1] != "sky:3.0" {
		w.Fatalf("machines %v, want the one that ran and the one that had been asked for", machines)
	}
	end(machines[0])
	if j := w.wants(wasRunning, federation.Completed, time.Second); !j.Start.Equal(start) {
		w.Errorf("it ran since %v, and began at %v", j.Start, start)
	}
	end(machines[1])
	if j := w.wants(wasRequeued, federation.Completed, time.Second); j.Restarts != 1 || j.ExitStatus != 0 {
		w.Errorf("%+v", j)
	}
	time.Sleep(time.Second)
	end(machines[0])
	w.wants(wasWaiting, federation.Completed, time.Second)
}

// fill makes the older store.
func fill(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(earlier + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(string(text)); err != nil {
		t.Fatal(err)
	}
}

// remake has the cloud make the machines that the older driver had made, in their order; those that it had ended have ended.
func (w *world) remake(books records.PoolStore) {
	w.Helper()
	gangs, err := books.LoadPool(context.Background(), w.cfg.Site, time.Time{})
	if err != nil {
		w.Fatal(err)
	}
	for _, r := range gangs {
		var g struct {
			Token, State string
			Offering     provider.Offering
			Names        []string
		}
		if r.Kind != records.PoolGang {
			continue
		}
		if err := json.Unmarshal(r.Data, &g); err != nil {
			w.Fatal(err)
		}
		if g.State == "asked" {
			continue
		}
		made, err := w.cloud.Create(context.Background(), provider.Request{Token: g.Token, Names: g.Names, Offering: g.Offering})
		if err != nil {
			w.Fatal(err)
		}
		if g.State == "over" {
			w.cloud.Kill(made[0].ID, "User.Terminated")
		}
	}
}

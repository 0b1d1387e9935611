package api_test

import (
	"log/slog"
	"testing"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/journal"
	"fsub/federation/store"
	"fsub/federation/webhooks"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// newHooks posts events of a daemon to this machine.
func newHooks(t *testing.T, d *apitest.Daemon) *webhooks.Hub {
	t.Helper()
	allowed, err := webhooks.ReadAllowed([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	box, err := webhooks.NewBox(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	return webhooks.New(webhooks.Config{Federation: "fed", Records: d.Store, Source: api.WebhookSource(d.Server), Box: box, Allow: allowed, Logger: slog.New(slog.DiscardHandler)})
}

// TestHookPagesAreBounded: where much has happened at once webhooks read it in pages of a bounded size, each event once and in order.
func TestHookPagesAreBounded(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	const commits, jobs = 20, 150
	ids, err := st.ReserveIDs(t.Context(), jobs)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if err := st.Commit(t.Context(), &journal.Batch{Create: []*federation.Job{{ID: id, User: "alice", State: federation.Running, Spec: &sbatch.Spec{}}}}); err != nil {
			t.Fatal(err)
		}
	}
	for range commits {
		var some []journal.Move
		for _, id := range ids {
			some = append(some, journal.Move{Job: id, Task: -1, What: journal.MoveRequeue, State: federation.Pending})
		}
		if err := st.Commit(t.Context(), &journal.Batch{Moves: some}); err != nil {
			t.Fatal(err)
		}
	}
	source := api.HookPages(st)
	seen, last := 0, journal.Mark(0)
	for at := journal.OldestMark; ; {
		page, err := source.Events(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) > api.MostEvents+jobs {
			t.Errorf("%d events at once", len(page.Events))
		}
		for _, e := range page.Events {
			if e.Mark < last || e.Mark > page.Mark {
				t.Fatalf("an event of mark %d after %d, in a page up to %d", e.Mark, last, page.Mark)
			}
			if last = e.Mark; e.Type == "fsub.job.requeue" {
				seen++
			}
		}
		if at = page.Mark; !page.Full {
			break
		}
	}
	if seen != commits*jobs {
		t.Errorf("%d events, want %d", seen, commits*jobs)
	}
}

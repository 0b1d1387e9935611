package local

import (
	"log/slog"
	"os"
	"testing"
	"time"
)

// TestGangTable: a gang is found by its machines, is there again after a restart with what was seen of their ends, and only its own file goes with it.
func TestGangTable(t *testing.T) {
	c := &Config{Dir: t.TempDir(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	if err := makeDirs(c.Dir); err != nil {
		t.Fatal(err)
	}
	table := newGangTable(c)
	g := &gang{Token: "G1", Machines: []machine{{ID: "G1.0"}, {ID: "G1.1"}}}
	table.byToken[g.Token] = g
	m := g.Machines[1]
	if err := table.enterEnd(g, &m, "deleted"); err != nil || m.Reason != "deleted" {
		t.Fatal(m, err)
	}
	again := newGangTable(c)
	if err := again.load(); err != nil {
		t.Fatal(err)
	}
	found, living := again.find("G1.0")
	_, ended := again.find("G1.1")
	if found == nil || !living.Ended.IsZero() || ended.Reason != "deleted" {
		t.Errorf("%+v, %+v", living, ended)
	}
	if err := again.forget(g); err != nil { // of the table before: not the one of that token any more
		t.Fatal(err)
	}
	if _, err := os.Stat(again.file("G1")); err != nil {
		t.Error(err)
	}
	if err := again.forget(found); err != nil || again.known(found) {
		t.Error("it is still known", err)
	}
}

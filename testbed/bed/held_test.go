package bed

import (
	"slices"
	"strings"
	"testing"
)

// testHold holds that each held job has a record of its own, one array or two.
func testHold(t *testing.T, b *Bed, s Site) {
	site, n := s.Name, heldArray+3
	if s.Suite == "forky" { // one by one
		n = 20
	}
	if err := b.Hold(t.Context(), site, "bob", n); err != nil {
		t.Fatalf("%v\n%s", err, b.Report(t.Context(), site))
	}
	out, err := b.Output(t.Context(), site, "bob", "squeue", "-h", "-u", "bob", "-t", "PENDING", "-o", "%A %r")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(out), "\n")
	slices.Sort(rows)
	if got := len(slices.Compact(slices.Clone(rows))); len(rows) != n || got != n || !strings.HasSuffix(rows[0], " JobHeldUser") {
		t.Errorf("%d rows, %d records, the first %q; want %d held jobs", len(rows), got, rows[0], n)
	}
	if _, err := b.Output(t.Context(), site, "bob", "scancel", "-u", "bob"); err != nil {
		t.Error(err)
	}
}

package store_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"fsub/federation"
	"fsub/federation/place"
	"fsub/federation/store"
)

// Jobs of a store that was written when minus --nice was stored stand where they stood, and those of which nobody has set a priority have none.
func TestSetPrioritiesAreToldFromDefaults(t *testing.T) {
	for _, c := range []struct {
		priority, nice int64
		set, top       uint32
	}{
		{0, 0, 0, 0},
		{-100, 100, 0, 0},
		{5, -5, 0, 0},
		{7, 0, 7, 0},
		{7, 100, 7, 0},
		{0, 100, 0, 100}, // before one of nice 1
		{-99, 100, 0, 1}, // before one of nice 100
	} {
		path := filepath.Join(t.TempDir(), "fed.db")
		execute(t, path, string(read(t, "testdata/earlier/v7.sql"))+fmt.Sprintf("UPDATE jobs SET priority = %d, spec = json_set(spec, '$.nice', %[2]d);\n", c.priority, c.nice))
		if c.nice == 0 {
			execute(t, path, "UPDATE jobs SET spec = json_remove(spec, '$.nice')")
		}
		s := open(t, store.Config{Path: path})
		for _, j := range sure(s.Jobs(ctx, federation.JobQuery{})) {
			if j.Priority != c.set || j.Top != c.top || place.Priority(&j) != c.priority {
				t.Errorf("priority %d, nice %d: job %d has %d and %d on top, which makes %d", c.priority, c.nice, j.ID, j.Priority, j.Top, place.Priority(&j))
			}
		}
		s.Close()
	}
}

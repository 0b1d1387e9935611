package store

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSameRequestIsFoundByItsTasks: whether there is a request like a new one is asked in the only writer's transaction, and ten thousand may wait that name tasks of one array. So no
// look at all of an array's requests may be needed.
func TestSameRequestIsFoundByItsTasks(t *testing.T) {
	s, err := Open(ctx, Config{Path: filepath.Join(t.TempDir(), "fed.db"), Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows, err := s.readers.QueryContext(ctx, "EXPLAIN QUERY PLAN "+sameRequest, 1, "[3]", "hold", 7001, false, "null", "null", 0, "null")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	if text := strings.Join(plan, "\n"); !strings.Contains(text, "USING INDEX requests_same (job_id=? AND <expr>=?)") {
		t.Errorf("the plan is:\n%s", text)
	}
}

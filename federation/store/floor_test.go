package store_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkFloor is what SQLite itself can do here: rows of 3 KiB with one index, so many a durable commit, nothing else. BenchmarkCreateJob
// is to be read beside it, in the same run.
func BenchmarkFloor(b *testing.B) {
	for _, group := range []int{1, 32, 100} {
		b.Run(fmt.Sprint(group), func(b *testing.B) {
			db, err := sql.Open("sqlite3", "file:"+filepath.Join(b.TempDir(), "floor.db")+"?_journal_mode=wal&_synchronous=full")
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(1)
			run := func(text string) {
				if _, err := db.Exec(text); err != nil {
					b.Fatal(err)
				}
			}
			run("CREATE TABLE jobs (id INTEGER PRIMARY KEY, rev INTEGER, spec TEXT); CREATE INDEX jobs_rev ON jobs (rev)")
			insert, err := db.Prepare("INSERT INTO jobs (rev, spec) VALUES ($1, $2)")
			if err != nil {
				b.Fatal(err)
			}
			spec := strings.Repeat("x", 3<<10)
			b.ResetTimer()
			for i := 0; i < b.N; {
				run("BEGIN")
				for range min(group, b.N-i) {
					i++
					if _, err := insert.Exec(i, spec); err != nil {
						b.Fatal(err)
					}
				}
				run("COMMIT")
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

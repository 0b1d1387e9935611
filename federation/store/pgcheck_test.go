package store

import (
	"slices"
	"strings"
	"testing"

	"fsub/federation"
	testbed "fsub/testbed/postgres"
)

// TestCheckPostgres: a store that a daemon uses is sound; rows whose job is gone are found.
func TestCheckPostgres(t *testing.T) {
	server := testbed.Start(t)
	at := Postgres{URL: server.URL()}
	if _, err := CheckPostgres(ctx, at); err == nil || !strings.Contains(err.Error(), "no fed has ever kept its state there") {
		t.Errorf("an empty database: %v", err)
	}
	s := mustOpenAt(t, at.URL)
	var last federation.JobID
	for range 3 {
		var err error
		if last, err = create(s, "ada"); err != nil {
			t.Fatal(err)
		}
	}
	r, err := CheckPostgres(ctx, at)
	if err != nil || len(r.Faults) > 0 || r.Jobs != 3 || r.Live != 3 || r.Schema != r.Newest || r.Bytes == 0 || r.Next < last {
		t.Errorf("%+v, %v", r, err)
	}
	server.ExecIn("fed1", "SET session_replication_role = replica; DELETE FROM jobs WHERE id = 30000001")
	r, err = CheckPostgres(ctx, at)
	if err != nil || !slices.ContainsFunc(r.Faults, func(f string) bool { return strings.Contains(f, "1 rows belong to nothing in jobs") }) {
		t.Errorf("%+v, %v", r, err)
	}
}

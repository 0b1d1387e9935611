package quota

import (
	"fmt"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
)

// One look at the limits of a job, beside a thousand that run: four accounts above each other and a QOS, each with limits by TRES.
func BenchmarkCheck(b *testing.B) {
	edits := []accounts.Edit{add(accounts.QOSKey("high"), "GrpTRES", "cpu=100000,gres/gpu=10000,mem=100T", "MaxTRESPerUser", "gres/gpu=9000", "MaxJobsPerUser", "5000", "MaxWall", "10000")}
	parent := "root"
	for i := range 4 {
		name := fmt.Sprint("a", i)
		e := add(accounts.AccountKey(name), "GrpTRES", "cpu=100000,gres/gpu=10000,node=9000", "GrpTRESMins", "gres/gpu=100000000", "MaxTRES", "node=64", "GrpJobs", "100000")
		e.Parent, parent = parent, name
		edits = append(edits, e)
	}
	edits = append(edits, add(accounts.UserKey("a3", "alice"), "MaxJobs", "10000"))
	book := New(tree(b, edits...), 7*24*time.Hour)
	w := Want{User: "alice", Account: "a3", QOS: "high", TRES: accounting.TRES{"cpu": 8, "gres/gpu": 4, "mem": 1000, "node": 1}, Longest: time.Hour}
	for id := range federation.JobID(1000) {
		book.Take(id+1, w)
	}
	b.ReportAllocs()
	for b.Loop() {
		if no := book.Check(start, &w); no != nil {
			b.Fatal(no.Text)
		}
	}
}

// The same for submissions.
func BenchmarkSubmitsCheck(b *testing.B) {
	edits := []accounts.Edit{add(accounts.QOSKey("high"), "GrpSubmitJobs", "100000", "MaxSubmitJobsPerUser", "50000"), add(accounts.AccountKey("physics"), "GrpSubmitJobs", "100000"),
		add(accounts.UserKey("physics", "alice"), "MaxSubmitJobs", "10000")}
	s := NewSubmits(tree(b, edits...))
	s.Limited()
	x := s.Of(Submitter{"alice", "physics", "high"})
	b.ReportAllocs()
	for b.Loop() {
		if no := s.Check(x, 1); no != nil {
			b.Fatal(no.Text)
		}
	}
}

package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/sbatch"
)

// TestCopiesAreNoted: what a job that runs has saved stands with its attempt, and so does what it has saved at its end.
func TestCopiesAreNoted(t *testing.T) {
	b, f := stagedBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Keep: []string{"ck"}} })
	b.rounds(4)
	b.cheap.start(id)
	b.wait(copiesEvery)
	if got := b.attempts(id)[0].Kept; got != nil {
		t.Errorf("nothing was saved, and %+v stands there", got)
	}
	f.kept = &egress.Kept{Bytes: 5, At: b.now().UTC(), Place: "aws:us-east-1"}
	b.wait(2 * copiesEvery)
	if got := b.attempts(id)[0].Kept; got == nil || *got != *f.kept {
		t.Errorf("%+v, want %+v", got, f.kept)
	}
	f.kept = &egress.Kept{Bytes: 7, At: b.now().UTC()}
	b.cheap.end(id, federation.Completed)
	b.wait(10 * time.Second)
	if got := b.attempts(id)[0].Kept; got == nil || got.Bytes != 7 {
		t.Errorf("at its end %+v", got)
	}
}

// TestKeptCountsInThePrice: where a job goes next depends on where the copy lies of what it keeps, and the offer says so.
func TestKeptCountsInThePrice(t *testing.T) {
	b, f := stagedBench(t)
	b.with(func(c *Config) {
		for i := range c.Sites {
			if c.Sites[i].Name == "cheap" { // it does not see the directory
				c.Sites[i].FileSystems = []string{}
			}
			c.Sites[i].Data = egress.Site{Place: "gcp:europe-west4"}
		}
	})
	id := b.submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Keep: []string{"ck"}} })
	b.rounds(4)
	b.cheap.start(id)
	f.kept = &egress.Kept{Bytes: 10 << 30, At: b.now().UTC(), Place: "aws:us-east-1"}
	b.wait(2 * copiesEvery)
	b.restart() // a new daemon knows it by the attempt
	b.cheap.end(id, federation.NodeFail)
	b.wait(time.Minute)
	all := b.attempts(id)
	if len(all) < 2 {
		t.Fatalf("%d attempts: %+v", len(all), all)
	}
	terms := fmt.Sprint(all[1].Decision.Offers[0].Terms)
	if !strings.Contains(terms, "what it keeps: 10 GB from aws:us-east-1") {
		t.Errorf("terms %s", terms)
	}
	if all[1].Site == "cheap" && !strings.Contains(terms, "{keep ") || all[1].Site != "cheap" && strings.Contains(terms, "{keep ") { // the other sees the directory
		t.Errorf("at %s terms %s", all[1].Site, terms)
	}
	if got := b.job(id).Spec.Fed.Inputs; len(got) > 0 {
		t.Errorf("its own inputs are %v now", got)
	}
}

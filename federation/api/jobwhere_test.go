package api

import (
	"context"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// A short condition may stand for any number of names. It is refused before they are written out, also where each of several lists is small enough.
func TestConditionsStandForFewNames(t *testing.T) {
	for text, want := range map[string]bool{
		"id=[1-100000]": true, "id=[1-100001]": false, "node=n[1-100000]": true, "node=n[1-100001]": false, "node=alpha/n[1-100001]": false,
		"node=alpha/n[1-60000],beta/n[1-40000]": true, "node=alpha/n[1-60000],beta/n[1-40001]": false, "id=[1-60000],[100000-140001]": false,
	} {
		if _, err := readConditions([]string{text}); (err == nil) != want || err != nil && !strings.Contains(err.Error(), "more than 100000 names") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// many is a store with so many jobs.
type many struct {
	Store
	n int
}

func (s many) ListJobs(context.Context, federation.JobQuery) ([]federation.ListedJob, error) {
	out := make([]federation.ListedJob, s.n)
	for i := range out {
		out[i].ID = federation.FirstJobID + federation.JobID(i)
	}
	return out, nil
}

func (s many) Jobs(_ context.Context, q federation.JobQuery) ([]federation.Job, error) {
	out := make([]federation.Job, len(q.IDs))
	for i := range out {
		out[i].ID, out[i].Spec, out[i].Submit = q.IDs[i], &sbatch.Spec{}, time.Now().Add(-time.Hour)
	}
	return out, nil
}

type nowhere struct{}

func (nowhere) Wake()                     {}
func (nowhere) Sites() []*federation.Site { return nil }

// An operation is done to so many jobs and no more, however short the condition is that means them.
func TestOperationOnFewJobs(t *testing.T) {
	for n, want := range map[int]bool{submission.MaxJobs: true, submission.MaxJobs + 1: false} {
		s := &operations{Store: many{n: n}, Controller: nowhere{}, Now: time.Now}
		chosen, err := s.chooseOf(t.Context(), &v1.NewOperation{Where: []string{"age>0s"}})
		if (err == nil) != want || want && len(chosen) != n || err != nil && !strings.Contains(err.Error(), "more than 100000 jobs are too many") {
			t.Errorf("%d jobs: %d chosen, %v", n, len(chosen), err)
		}
	}
}

package api_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	v1 "fsub/federation/api/v1"
	"fsub/federation/driver"
)

// stepSite is a site where each job has a step 0.
type stepSite struct {
	mu    sync.Mutex
	asked []string
}

// take returns what was asked, and forgets it.
func (s *stepSite) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *stepSite) SignalStep(_ context.Context, job federation.JobID, step string, sig driver.StepSignal) error {
	if step != "0" {
		return federation.ErrNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf("%d.%s %s by %d", job, step, sig.Name, sig.By))
	return nil
}

// TestSignalStep: who may signal a step, and at which sites.
func TestSignalStep(t *testing.T) {
	site := &stepSite{}
	d := startWith(t, api.Config{StepSignals: map[federation.SiteName]driver.StepSignaller{"sky": site}})
	put := func(id federation.JobID, at federation.SiteName, state federation.State) *federation.Job {
		j := job(id, alice, state)
		j.Site, j.End = at, time.Now()
		return &j
	}
	second := put(8, "sky", federation.Running)
	second.Component = &federation.HetComponent{Leader: 7, Offset: 1}
	d.Put(t, *put(1, "sky", federation.Running), *put(2, "alpha", federation.Running), *put(3, "sky", federation.Completed), *put(4, "", federation.Pending),
		*put(7, "sky", federation.Running), *second)
	for _, c := range []struct {
		uid    uint32
		job    federation.JobID
		step   string
		signal string
		code   int
		text   string
		asked  string
	}{
		{alice, 1, "0", "", 200, "", "1.0  by 61001"},
		{alice, 1, "0", "USR1", 200, "", "1.0 USR1 by 61001"},
		{olga, 1, "0", "10", 200, "", fmt.Sprintf("1.0 10 by %d", olga)},
		{alice, 8, "0", "", 200, "", "7.0  by 61001"},
		{bob, 1, "0", "", 403, "Invalid user id", ""},
		{alice, 1, "1", "", 404, "Invalid job id specified", ""},
		{alice, 3, "0", "", 404, "Invalid job id specified", ""},
		{alice, 4, "0", "", 404, "Invalid job id specified", ""},
		{alice, 99, "0", "", 404, "Invalid job id specified", ""},
		{alice, 2, "0", "", 400, "alpha is a Slurm cluster, whose REST API takes no orders to steps: ", ""},
		{bob, 2, "0", "", 403, "Invalid user id", ""},
		{alice, 1, "batch", "", 400, "Unable to parse", ""},
		{alice, 1, "0", "BOGUS", 400, "", ""},
	} {
		var out v1.ErrorResponse
		code := as(t, c.uid, d.Socket, "POST", "/fed/v1/steps/signal", v1.StepSignal{Job: c.job, Step: c.step, Signal: c.signal}, &out)
		asked := site.take()
		if want := strings.Fields(c.asked); code != c.code || c.text != "Unable to parse" && !strings.HasPrefix(out.Error.Text, c.text) || !slices.Equal(strings.Fields(strings.Join(asked, ";")), want) {
			t.Errorf("%+v: status %d, %q, asked %q", c, code, out.Error.Text, asked)
		}
	}
}

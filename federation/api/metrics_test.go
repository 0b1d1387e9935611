package api_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"fsub/federation/api"
	"fsub/testbed/apitest"
)

// slowMetrics take a while to gather, and know how many gather at a time.
type slowMetrics struct{ now, most atomic.Int32 }

func (s *slowMetrics) Gather() ([]*dto.MetricFamily, error) {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	time.Sleep(20 * time.Millisecond)
	return nil, nil
}

// TestMetricsTakeTurns: who asks for the metrics again and again takes up no more than with other requests.
func TestMetricsTakeTurns(t *testing.T) {
	var slow slowMetrics
	d := apitest.Start(t, api.Config{Gatherer: &slow, Users: users{alice: "alice"}})
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			if code := as(t, alice, d.Socket, "GET", "/metrics", nil, nil); code != 200 {
				t.Errorf("status %d", code)
			}
		})
	}
	all.Wait()
	if most := slow.most.Load(); most > 8 {
		t.Errorf("%d at a time", most)
	}
}

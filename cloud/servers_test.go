package cloud_test

import (
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
)

// A daemon that takes over asks for a gang in the words of the one before, although machines of new gangs are told other addresses by now: else the cloud would
// take it for another request.
func TestAsksAgainInTheSameWords(t *testing.T) {
	bubble(t, func(w *world) {
		var told []string
		asked := make(chan struct{}, 10)
		w.cloud.After = func(op string, r *provider.Request) error {
			if op != "Create" {
				return nil
			}
			if told = append(told, r.Boot.URL); len(told) > 1 {
				return nil
			}
			asked <- struct{}{}
			return &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: "the answer is lost"}
		}
		w.server.Daemons = []string{"https://a:1", "https://b:1"}
		w.ready()
		id := w.submit("sleep 5", nil)
		<-asked
		w.stop()
		w.server.Daemons = []string{"https://b:1", "https://a:1", "https://c:1"}
		w.ready()
		w.wants(id, federation.Completed, time.Minute)
		if want := "https://a:1,https://b:1"; len(told) != 2 || told[0] != want || told[1] != want {
			t.Errorf("machines were told %q, want %s two times", told, want)
		}
		if n := len(w.cloud.Machines()); n != 1 {
			t.Errorf("%d machines were rented for one job", n)
		}
		w.wants(w.submit("sleep 5", func(s *federation.Submission) { s.Job.Spec.MinNodes = 2 }), federation.Completed, time.Hour)
		if last := told[len(told)-1]; last != "https://b:1,https://a:1,https://c:1" {
			t.Errorf("machines of a new gang were told %q", last)
		}
	})
}

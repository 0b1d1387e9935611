package cloud_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
)

// TestCheck: a cloud that does not answer is told by fed site test, with what to do.
func TestCheck(t *testing.T) {
	bubble(t, func(w *world) {
		w.ready()
		results := func() map[string]federation.SiteCheck {
			found := map[string]federation.SiteCheck{}
			for _, k := range w.driver.Check(context.Background()) {
				found[k.Name] = k
			}
			return found
		}
		if got := results(); got["offerings"].Result != federation.CheckOK || got["machines"].Result != federation.CheckOK {
			t.Errorf("%+v", got)
		}
		w.cloud.Before = func(op string, _ *provider.Request) error {
			if op == "List" {
				return errors.New("no right to list")
			}
			return nil
		}
		if got := results()["machines"]; got.Result != federation.CheckFailed || got.Advice == "" {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Second)
	})
}

package cloud_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
)

// TestCredentialsRefused: credentials that expire while the daemon runs are told by the next look at the site, as a refused token is, and not again and again
// in the log; a minute after they were renewed the site is well.
func TestCredentialsRefused(t *testing.T) {
	bubble(t, func(w *world) {
		var refuses atomic.Bool
		w.cloud.Before = func(string, *provider.Request) error {
			if refuses.Load() {
				return &provider.Error{Kind: provider.KindDenied, Scope: provider.ScopeCloud, Code: "ExpiredToken", Text: "The security token included in the request is expired"}
			}
			return nil
		}
		var log bytes.Buffer
		w.cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		w.ready()
		refuses.Store(true)
		w.until("the site says that its credentials are refused", 2*time.Minute, func() bool {
			_, err := w.driver.Observe(context.Background())
			return errors.Is(err, federation.ErrDenied) && strings.Contains(err.Error(), "the cloud refuses the credentials: denied: ExpiredToken: The security token")
		})
		time.Sleep(2 * time.Hour)
		if _, err := w.driver.Observe(context.Background()); !errors.Is(err, federation.ErrDenied) {
			t.Errorf("two hours later: %v", err)
		}
		refuses.Store(false)
		w.until("the site is well", 2*time.Minute, func() bool {
			o, err := w.driver.Observe(context.Background())
			return err == nil && len(o.Warnings) == 0
		})
		w.stop()
		if log.Len() > 0 {
			t.Errorf("the controller logs what a site says; the driver has logged it, too:\n%s", log.String())
		}
	})
}

// TestCloudSilent: a cloud that does not answer for two hours is one line in the log for each thing that was asked of it, when that begins and when it is over.
func TestCloudSilent(t *testing.T) {
	bubble(t, func(w *world) {
		var silent atomic.Bool
		w.cloud.Before = func(string, *provider.Request) error {
			if silent.Load() {
				return &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: "no route to host"}
			}
			return nil
		}
		var log bytes.Buffer
		w.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		w.ready()
		silent.Store(true)
		time.Sleep(2 * time.Hour)
		silent.Store(false)
		time.Sleep(time.Hour)
		w.stop()
		for _, what := range []string{"list machines", "ask what can be rented"} {
			if begins, ends := strings.Count(log.String(), `level=ERROR msg="`+what), strings.Count(log.String(), `msg="over: `+what); begins != 1 || ends != 1 {
				t.Errorf("%s: logged %d times, over %d times:\n%s", what, begins, ends, log.String())
			}
		}
	})
}

package api_test

import (
	"log/slog"
	"testing"

	"fsub/federation/api"
	"fsub/federation/webhooks"
	"fsub/testbed/apitest"
)

// newHooks posts events of a daemon to this machine.
func newHooks(t *testing.T, d *apitest.Daemon) *webhooks.Hub {
	t.Helper()
	allowed, err := webhooks.ReadAllowed([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	box, err := webhooks.NewBox(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	return webhooks.New(webhooks.Config{Federation: "fed", Records: d.Store, Source: api.WebhookSource(d.Server), Box: box, Allow: allowed, Logger: slog.New(slog.DiscardHandler)})
}

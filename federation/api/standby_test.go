package api_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation/api"
	"fsub/testbed/apitest"
)

// Of each route that tells something it is said which daemon answers it.
func TestEachRouteHasItsDaemon(t *testing.T) {
	d := apitest.Start(t, api.Config{Registerer: prometheus.NewRegistry()})
	undecided, gone := d.Server.Undecided()
	if len(undecided)+len(gone) > 0 {
		t.Errorf("who answers %q? There is no %q", undecided, gone)
	}
}

package local

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"fsub/cloud/agentapi"
	"fsub/cloud/hosted"
	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/federation"
)

// TestConformance holds the local cloud to what every provider keeps.
func TestConformance(t *testing.T) {
	conforms(t, func(_ *testing.T, p *Provider) provider.Provider { return p })
}

// TestConformanceFromElsewhere: also where another daemon asks for its machines.
func TestConformanceFromElsewhere(t *testing.T) {
	conforms(t, func(t *testing.T, p *Provider) provider.Provider {
		srv := httptest.NewTLSServer(&hosted.Handler{
			Provider: func(federation.SiteName) provider.Provider { return p },
			InForce:  func(_ context.Context, epoch int64) (bool, error) { return epoch == 7, nil },
		})
		t.Cleanup(srv.Close)
		return &hosted.Client{Site: "local", Daemon: "d2", Address: srv.Listener.Addr().String, Epoch: 7, HTTP: srv.Client()}
	})
}

// conforms runs the suite over what is made of a provider.
func conforms(t *testing.T, asked func(*testing.T, *Provider) provider.Provider) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		four := func(c *Config) { c.Shapes = []Shape{{Type: "small", CPUs: 1, Mem: 100, Max: 4}} }
		p := world(t, four)
		return providertest.Harness{
			Provider: asked(t, p), Site: "local", Boot: agentapi.Boot{Token: "conformance"}, Unknown: "no-such-machine",
			Again: func(t *testing.T) provider.Provider { return asked(t, open(t, p.cfg.Dir, four)) },
			Break: func(t *testing.T, f providertest.Fault, o provider.Offering) (func(), error) {
				if f != providertest.StockOut {
					return nil, errors.New("there is no account and no network between")
				}
				made, err := p.Create(t.Context(), provider.Request{Token: "full", Site: "local", Offering: o, Count: 3, Names: []string{"a", "b", "c"}})
				if err != nil {
					t.Fatal(err)
				}
				return func() {
					for _, m := range made {
						if err := p.Delete(t.Context(), []provider.InstanceID{m.ID}); err != nil {
							t.Error(err)
						}
					}
				}, nil
			},
		}
	})
}

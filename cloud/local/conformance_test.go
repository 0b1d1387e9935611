package local

import (
	"errors"
	"testing"

	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/cloud/providertest"
)

// TestConformance holds the local cloud to what every provider keeps.
func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		four := func(c *Config) { c.Shapes = []Shape{{Type: "small", CPUs: 1, Mem: 100, Max: 4}} }
		p := world(t, four)
		return providertest.Harness{
			Provider: p, Site: "local", Boot: agentapi.Boot{Token: "conformance"}, Unknown: "no-such-machine",
			Again: func(t *testing.T) provider.Provider { return open(t, p.cfg.Dir, four) },
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

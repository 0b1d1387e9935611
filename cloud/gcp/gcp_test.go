package gcp

import (
	"errors"
	"os"
	"testing"

	"fsub/cloud/google"
	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/testbed/gce"
	"fsub/testbed/machines"
)

// TestMain hides the environment's own credentials from all tests.
func TestMain(m *testing.M) {
	os.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent")
	os.Exit(m.Run())
}

// world is a stand-in for Google that runs until the test ends.
func world(t *testing.T, cfg gce.Config) (*gce.Cloud, string) {
	t.Helper()
	c := gce.New(cfg)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	url, err := c.Start("")
	if err != nil {
		t.Fatal(err)
	}
	return c, url
}

// standIn is a configuration for a stand-in.
func standIn(c *gce.Cloud, url string) Config {
	return Config{
		Section: google.Section{Site: "google", Federation: "test", Project: c.Project(), Endpoint: url, Markets: []provider.Market{provider.OnDemand, provider.Spot, provider.Flex}},
		Region:  c.Region(), Types: []string{"g2-standard-4"},
	}
}

func open(t *testing.T, cfg Config) *Provider {
	t.Helper()
	p, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestConformance holds Google to what every provider keeps, in each of the ways in which machines are asked for.
func TestConformance(t *testing.T) {
	for name, how := range map[string]struct {
		offering string
		except   map[string]string
	}{
		"OnDemand": {offering: "g2-standard-4/us-central1-a/on-demand"},
		"Spot":     {offering: "g2-standard-4/us-central1-b/spot"},
		"Flex": {offering: "g2-standard-4/us-central1-c/flex", except: map[string]string{
			"FaultStockOut":       "a queued request waits for stock, and is withdrawn in the end: see TestFlexWaits",
			"FaultQuota":          "the first answer is pending: see TestFlexQuota",
			"CreateAtOnce":        "who asks while the request is queued hears that it is pending",
			"LostReply":           "the reply to the call that begins the queue is lost in TestFlexLostReplies, for each of its calls",
			"LostReplyAndRestart": "likewise",
			"CreateConflict":      "see TestFlexConflict: the first answer is pending",
		}},
		"Reserved": {offering: "g2-standard-4/us-central1-a/reserved/paid", except: map[string]string{"FaultStockOut": "a reservation is not out of stock", "FaultQuota": "a reservation was counted when it was made"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			providertest.Run(t, func(t *testing.T) providertest.Harness {
				c, url := world(t, gce.Config{})
				c.Reserve("us-central1-a", "paid", "g2-standard-4", 50, "")
				cfg := standIn(c, url)
				cfg.Reservations = []string{"paid"}
				stranger := cfg
				stranger.Site = "other"
				return providertest.Harness{
					Provider: open(t, cfg), Site: "google", Offering: how.offering, Except: how.except, Unknown: "us-central1-a/fsub-0123456789abcdef0123-0",
					Again:    func(t *testing.T) provider.Provider { return open(t, cfg) },
					Stranger: func(t *testing.T) provider.Provider { return open(t, stranger) },
					Break:    func(t *testing.T, f providertest.Fault, o provider.Offering) (func(), error) { return breakIt(c, f, o) },
				}
			})
		})
	}
}

func breakIt(c *gce.Cloud, f providertest.Fault, o provider.Offering) (func(), error) {
	switch f {
	case providertest.StockOut:
		c.SetStock(machines.Pool{Type: o.Type}, 0)
	case providertest.Quota:
		c.SetQuota(string(o.Market), o.CPUs-1)
	case providertest.Denied:
		c.Deny("")
	case providertest.Throttled:
		c.Inject(machines.Fault{Kind: machines.Refuse, Code: "rateLimitExceeded", Status: 403})
	case providertest.Unavailable:
		c.Inject(machines.Fault{Kind: machines.LoseRequest})
	case providertest.LostReply:
		c.Inject(machines.Fault{Action: "instances.bulkInsert", Kind: machines.LoseReply, Times: 1})
	default:
		return nil, errors.New("not known")
	}
	return c.ClearFaults, nil
}

// gang is a request for n machines.
func gang(o provider.Offering, token string, n int) provider.Request {
	r := provider.Request{Token: token, Site: "google", Offering: o, Count: n, Boot: google.Boot()}
	r.Boot.URL, r.Boot.Token = "https://127.0.0.1:9", "one-time"
	for i := range n {
		r.Names = append(r.Names, token+"-"+string(rune('a'+i)))
	}
	return r
}

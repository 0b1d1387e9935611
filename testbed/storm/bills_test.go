package storm

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fsub/accounting"
	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/azure"
	"fsub/cloud/cloudtest"
	"fsub/cloud/gcp"
	"fsub/cloud/provider"
	"fsub/cloud/tpu"
	"fsub/federation"
	azurecloud "fsub/testbed/azure"
	"fsub/testbed/gce"
)

// atHand carries calls to a cloud in this process, so that they take virtual time.
type atHand struct{ http.Handler }

func (c atHand) RoundTrip(r *http.Request) (*http.Response, error) {
	in, w := r.Clone(r.Context()), httptest.NewRecorder()
	if in.Body == nil {
		in.Body = http.NoBody
	}
	c.ServeHTTP(w, in)
	out := w.Result()
	out.Request = r
	return out, nil
}

// life is a machine as the cloud's bill has it.
type life struct{ from, to time.Time }

// TestBillsOfStandIns: what the stand-ins of Google and Azure charge for machines that are made, never come up and are ended, is in our books, machine by machine. Neither cloud
// tells when a machine that is gone has ended: our books have it until the first look that does not find it, and so never less than the bill, and ten seconds a machine more
// at most.
func TestBillsOfStandIns(t *testing.T) {
	const hourly = 12
	ofGoogle := func(c *gce.Cloud) (lives []life) {
		for _, m := range c.Instances() {
			lives = append(lives, life{m.Made, m.Gone})
		}
		return lives
	}
	for name, open := range map[string]func(t *testing.T) (provider.Provider, http.Handler, func() []life){
		"gcp": func(t *testing.T) (provider.Provider, http.Handler, func() []life) {
			c := gce.New(gce.Config{})
			p, err := gcp.New(t.Context(), gcp.Config{Site: "site", Federation: "test", Project: c.Project(), Region: c.Region(), Zones: []string{"us-central1-a"}, Endpoint: "http://gce",
				HTTP: &http.Client{Transport: atHand{c}}, Types: []gcp.Type{{Name: "g2-standard-4", Price: hourly}}})
			if err != nil {
				t.Fatal(err)
			}
			return p, c, func() []life { return ofGoogle(c) }
		},
		"tpu": func(t *testing.T) (provider.Provider, http.Handler, func() []life) {
			c := gce.New(gce.Config{})
			p, err := tpu.New(t.Context(), tpu.Config{Site: "site", Federation: "test", Project: c.Project(), Zones: []string{"us-central1-a"}, Endpoint: "http://gce",
				HTTP: &http.Client{Transport: atHand{c}}, Slices: []string{"v5litepod-16"}, Prices: map[string]federation.Dollars{"v5e": hourly / 4}})
			if err != nil {
				t.Fatal(err)
			}
			return p, c, func() []life { return ofGoogle(c) }
		},
		"azure": func(t *testing.T) (provider.Provider, http.Handler, func() []life) {
			c := azurecloud.New(azurecloud.Config{})
			p, err := azure.New(azure.Config{Site: "site", Federation: "test", Subscription: azurecloud.Subscription, ResourceGroup: "fsub", Location: "eastus", Subnet: azurecloud.Subnet,
				Endpoint: "http://azure", Credential: azure.Token(c.Token()), HTTP: &http.Client{Transport: atHand{c}}, Sizes: []azure.Size{{Name: "Standard_NV12ads_A10_v5", Price: hourly}}})
			if err != nil {
				t.Fatal(err)
			}
			return p, c, func() (lives []life) {
				for _, m := range c.Machines() {
					lives = append(lives, life{m.Made, m.Ended})
				}
				return lives
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, c, lives := open(t)
				defer c.(interface{ Close() error }).Close()
				st := &cloudtest.Store{}
				d, err := cloud.New(cloud.Config{Site: "site", Provider: p, Store: st, AgentServer: &cloudtest.AgentServer{}, Secret: []byte("0123456789abcdef"), Users: people{},
					Logger: slog.New(slog.DiscardHandler), Pools: []cloud.PoolConfig{{Name: "main", Min: 4, Max: 8, Idle: 2 * time.Minute}}, Boot: agentapi.Boot{PowerOff: true}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { _ = d.Run(ctx) })
				time.Sleep(6 * time.Hour)
				for c.(interface{ Live() int }).Live() > 0 {
					time.Sleep(time.Second)
				}
				time.Sleep(2 * time.Minute) // until a listing has shown that they are gone
				cancel()
				running.Wait()
				var bill, ours federation.Money
				for _, l := range lives() {
					bill += accounting.MoneyOf(hourly).For(l.to.Sub(l.from))
				}
				records, err := st.PoolHistory(t.Context(), "site", federation.PoolMachine, time.Time{}, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range records {
					var m struct{ Cost federation.Money }
					if err := json.Unmarshal(r.Data, &m); err != nil {
						t.Fatal(err)
					}
					ours += m.Cost
				}
				most := accounting.MoneyOf(hourly).For(10*time.Second + 100*time.Millisecond)
				t.Logf("%s: $%s for %d machines; our books have $%s for %d", name, bill.Text(6), len(lives()), ours.Text(6), len(records))
				if over := ours - bill; over < 0 || over > federation.Money(len(records))*most || len(records) != len(lives()) || bill < federation.Dollar {
					t.Errorf("our books have $%s more", over.Text(6))
				}
			})
		})
	}
}

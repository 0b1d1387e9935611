package storm

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fsub/accounting"
	"fsub/accounting/bill"
	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/aws"
	"fsub/cloud/azure"
	"fsub/cloud/cloudtest"
	"fsub/cloud/gcp"
	"fsub/cloud/google"
	"fsub/cloud/provider"
	"fsub/cloud/tpu"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/store"
	azurecloud "fsub/testbed/azure"
	"fsub/testbed/ec2"
	"fsub/testbed/gce"
)

// life is a machine as the cloud's bill has it.
type life struct {
	id       string
	spot     bool
	from, to time.Time // zero: it lives
}

// stand is a stand-in with its provider, and what its bills are like.
type stand struct {
	provider.Provider
	lives func() []life
	take  func(id string) error // takes a spot machine back
	close func() error
	least time.Duration // what a machine is charged for at least

	head string
	row  func(service, resource string, from, to time.Time, cost string) string
}

const month = "2000-01-01T00:00:00Z,2000-02-01T00:00:00Z" // the bubble's

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func openAWS(t *testing.T) *stand {
	t.Setenv("AWS_CA_BUNDLE", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	c := ec2.New(ec2.Config{Types: ec2.TypesNamed("g6.xlarge"), Gone: 24 * time.Hour})
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = "+c.AccessKey()+"\naws_secret_access_key = "+c.SecretKey()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := aws.New(t.Context(), aws.Config{Site: "site", Federation: "test", Region: aws.Region{Name: c.Region()}, Endpoint: "http://ec2", CredentialsFile: file, HTTP: c.Client(),
		Types: []string{"g6.xlarge"}})
	if err != nil {
		t.Fatal(err)
	}
	return &stand{Provider: p, least: time.Minute, close: c.Close, take: func(id string) error { return c.SpotNotice(id, 0) },
		lives: func() (lives []life) {
			for _, m := range c.Instances() {
				lives = append(lives, life{m.ID, m.Market == "spot", m.Launched, m.Ended})
			}
			return lives
		},
		head: "lineItem/UnblendedCost,lineItem/UsageStartDate,lineItem/UsageEndDate,bill/BillingPeriodStartDate,bill/BillingPeriodEndDate,lineItem/LineItemType,lineItem/ProductCode,lineItem/ResourceId",
		row: func(service, resource string, from, to time.Time, cost string) string {
			return strings.Join([]string{cost, stamp(from), stamp(to), month, "Usage", service, resource}, ",")
		}}
}

// ofGoogle is what Compute Engine and Cloud TPU have alike.
func ofGoogle(c *gce.Cloud, p provider.Provider) *stand {
	return &stand{Provider: p, close: c.Close, take: func(id string) error { return c.Preempt(id, 0) },
		lives: func() (lives []life) {
			for _, m := range c.Instances() {
				id := m.ID
				if m.Node != "" { // a host of a slice is known by its number
					id = m.Zone + "/" + m.Node + "/" + m.Name[strings.LastIndex(m.Name, "-w")+2:]
				}
				lives = append(lives, life{id, m.Market == "spot", m.Made, m.Gone})
			}
			return lives
		},
		head: "cost,usage_start_time,usage_end_time,invoice.month,cost_type,service.description,resource.name",
		row: func(service, resource string, from, to time.Time, cost string) string {
			return strings.Join([]string{cost, stamp(from), stamp(to), "200001", "regular", service, resource}, ",")
		}}
}

func openGCP(t *testing.T) *stand {
	c := gce.New(gce.Config{})
	p, err := gcp.New(t.Context(), gcp.Config{Section: google.Section{Site: "site", Federation: "test", Project: c.Project(), Endpoint: "http://gce", HTTP: c.Client()},
		Region: c.Region(), Zones: []string{"us-central1-a"},
		Types: []string{"g2-standard-4"}})
	if err != nil {
		t.Fatal(err)
	}
	s := ofGoogle(c, p)
	s.least = time.Minute
	return s
}

func openTPU(t *testing.T) *stand {
	c := gce.New(gce.Config{})
	p, err := tpu.New(t.Context(), tpu.Config{Section: google.Section{Site: "site", Federation: "test", Project: c.Project(), Endpoint: "http://gce", HTTP: c.Client(),
		Markets: []provider.Market{provider.OnDemand}}, Zones: []string{"us-central1-a"},
		Slices: []string{"v5litepod-16"}, Contract: map[string]decision.Dollars{"v5e": 3}})
	if err != nil {
		t.Fatal(err)
	}
	return ofGoogle(c, p)
}

func openAzure(t *testing.T) *stand {
	c := azurecloud.New(azurecloud.Config{})
	p, err := azure.New(azure.Config{Site: "site", Federation: "test", Subscription: azurecloud.Subscription, ResourceGroup: "fsub", Location: "eastus", Subnet: azurecloud.Subnet,
		Endpoint: "http://azure", Credential: azure.Token(c.Token()), HTTP: c.Client(), Sizes: []string{"Standard_NV12ads_A10_v5"},
		Images: map[string]string{"x86_64/gpu": "me:grid:24:latest"}})
	if err != nil {
		t.Fatal(err)
	}
	return &stand{Provider: p, close: c.Close, take: func(id string) error { return c.SpotNotice(id, 0) },
		lives: func() (lives []life) {
			for _, m := range c.Machines() {
				lives = append(lives, life{m.Name, m.Market == "spot", m.Made, m.Ended})
			}
			return lives
		},
		head: "CostInBillingCurrency,BillingCurrency,Date,BillingPeriodStartDate,BillingPeriodEndDate,ChargeType,MeterCategory,ResourceId", // by day
		row: func(service, resource string, from, _ time.Time, cost string) string {
			return strings.Join([]string{cost, "USD", from.Format("01/02/2006"), "01/01/2000", "01/31/2000", "Usage", service, resource}, ",")
		}}
}

// TestBillsOfStandIns: machines of the stand-ins are made, never come up and are ended, are taken back, and end while no daemon runs. What the books have of each
// before there is a bill is never less than the cloud charges for it at the price that it was rented at, and ten seconds more at most where somebody looked. A machine that
// was made as its daemon was killed, and that is gone before there is another, is in the bill alone. When that is imported, with spot prices that have changed since and with
// disks, the books come to it exactly.
func TestBillsOfStandIns(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *stand{"aws": openAWS, "gcp": openGCP, "tpu": openTPU, "azure": openAzure} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { bills(t, open(t)) }) })
	}
}

func bills(t *testing.T, s *stand) {
	defer s.close()
	st, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "fed.db"), Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	offers, err := s.Offerings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	price := map[bool]decision.Dollars{} // of spot machines, and of others
	for _, o := range offers {
		price[o.Market == provider.Spot] = o.Price
	}
	taken, unseen := 0, 0
	var dark []time.Time // when a daemon was killed
	alive := func() (ids []string) {
		for _, l := range s.lives() {
			if l.to.IsZero() {
				ids = append(ids, l.id)
			}
		}
		return ids
	}
	takeOne := func() {
		for _, l := range s.lives() {
			if l.to.IsZero() && l.spot && s.take(l.id) == nil {
				taken++
				return
			}
		}
	}
	const apart = 30 * time.Minute // no daemon runs
	for range 2 {
		d, err := cloud.New(cloud.Config{Site: "site", Provider: s, Store: st, AgentServer: &cloudtest.AgentServer{}, Secret: []byte("0123456789abcdef"), Users: people{},
			Logger: slog.New(slog.DiscardHandler), Pools: []cloud.PoolConfig{{Name: "main", Min: 4, Max: 8, Idle: 2 * time.Minute}}, Boot: agentapi.Boot{PowerOff: true}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = d.Run(ctx) })
		for range 3 {
			time.Sleep(15 * time.Minute)
			for len(alive()) == 0 {
				time.Sleep(time.Second)
			}
			takeOne()
		}
		for len(alive()) == 0 {
			time.Sleep(time.Second)
		}
		cancel()
		running.Wait()
		dark = append(dark, time.Now())
		takeOne()
		time.Sleep(apart)
	}
	d, err := cloud.New(cloud.Config{Site: "site", Provider: s, Store: st, AgentServer: &cloudtest.AgentServer{}, Secret: []byte("0123456789abcdef"), Users: people{},
		Logger: slog.New(slog.DiscardHandler), Pools: []cloud.PoolConfig{{Name: "main", Max: 8, Idle: 2 * time.Minute}}, Boot: agentapi.Boot{PowerOff: true}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	for len(alive()) > 0 {
		time.Sleep(time.Second)
	}
	time.Sleep(2 * time.Minute) // until a listing has shown that they are gone
	cancel()
	running.Wait()

	records, err := rented{st}.Machines(t.Context(), "site", time.Time{}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range records {
		known[m.Instance] = true
	}
	mine := func(resource string) bool { return known[resource] }
	lives := s.lives()
	var rent federation.Money
	for _, l := range lives {
		for _, at := range dark {
			if l.to.After(at) && l.to.Before(at.Add(apart)) {
				unseen++
			}
		}
		if mine(l.id) {
			rent += accounting.MoneyOf(float64(price[l.spot])).For(max(l.to.Sub(l.from), s.least))
		}
	}
	b := booked(t, st, "site")
	ours := b.total("site")
	most := accounting.MoneyOf(float64(price[false])).For(time.Duration(len(lives))*11*time.Second + time.Duration(unseen)*(apart+time.Minute))
	t.Logf("$%s for %d machines, %d of them taken back, %d ended unseen; the books have $%s for %d", rent.Text(6), len(lives), taken, unseen, ours.Text(6), len(records))
	if over := ours - rent; over < 0 || over > most || len(known) != len(records) || len(records) > len(lives) || len(records) < len(lives)-unseen || rent < federation.Dollar {
		t.Errorf("the books have $%s more, $%s at most", over.Text(6), most.Text(6))
	}

	text, total := s.bill(lives, price)
	table, err := bill.CSV(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	b.take("site", table, mine)
	if got := b.total("site"); got != total {
		t.Errorf("with the bill of $%s the books have $%s", total.Text(6), got.Text(6))
	}
	t.Logf("billed: $%s", total.Text(2))
}

// bill is the cloud's bill: by the second with the least that is charged, spot machines at the price at the beginning of each hour that they run, which is a tenth higher
// after the first hour of the month, and a disk of each machine.
func (s *stand) bill(lives []life, price map[bool]decision.Dollars) (text string, total federation.Money) {
	rows := []string{s.head}
	add := func(service, resource string, from, to time.Time, m federation.Money) {
		total += m
		rows = append(rows, s.row(service, resource, from, to, m.Text(6)))
	}
	dearer := time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)
	for _, l := range lives {
		to := l.from.Add(max(l.to.Sub(l.from), s.least))
		for at := l.from; at.Before(to); at = at.Add(time.Hour) {
			perHour := accounting.MoneyOf(float64(price[l.spot]))
			if l.spot && !at.Before(dearer) {
				perHour += perHour / 10
			}
			end := at.Add(min(to.Sub(at), time.Hour))
			add("machines", l.id, at, end, perHour.For(end.Sub(at)))
		}
		add("disks", "disk-of-"+l.id, l.from, to, accounting.MoneyOf(0.0137).For(to.Sub(l.from)))
	}
	return strings.Join(rows, "\n") + "\n", total
}

package aws

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/federation/decision"
)

// canned answers each action with the same words: for what the stand-in does not show.
func canned(t *testing.T, answers map[string]string) *Provider {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		action := r.FormValue("Action")
		body, ok := answers[action]
		if !ok {
			w.WriteHeader(400)
			fmt.Fprint(w, "<Response><Errors><Error><Code>InvalidAction</Code><Message>no</Message></Error></Errors></Response>")
			return
		}
		fmt.Fprintf(w, `<%[1]sResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId>%[2]s</%[1]sResponse>`, action, body)
	}))
	t.Cleanup(s.Close)
	return open(t, Config{
		Site: "aws", Federation: "test", Region: Region{Name: "us-east-2"}, Endpoint: s.URL, Types: []string{"c7i.large"}, Logger: quiet,
		CredentialsFile: credentials(t, "AKIAIOSFODNN7EXAMPLE", "secret"),
	})
}

// TestAnswersAtOnce: no answer is lost whose header comes before all of the request is sent.
func TestAnswersAtOnce(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if err := errors.Join(c.EnableFullDuplex(), c.Flush()); err != nil {
			t.Error(err)
		}
		io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, `<DescribeSubnetsResponse><subnetSet><item><subnetId>subnet-1</subnetId><availabilityZone>a</availabilityZone></item></subnetSet></DescribeSubnetsResponse>`)
	}))
	t.Cleanup(s.Close)
	r := Region{Name: "us-east-2"}
	for i := range 40_000 {
		r.Subnets = append(r.Subnets, fmt.Sprintf("subnet-%017x", i))
	}
	p := open(t, Config{Site: "aws", Federation: "test", Region: r, Endpoint: s.URL, Types: []string{"c7i.large"}, Logger: quiet,
		CredentialsFile: credentials(t, "AKIAIOSFODNN7EXAMPLE", "secret")})
	for range 2 {
		if got, err := p.region.subnets(t.Context(), p); err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
	}
}

// TestOneSubnetOfAZone: whatever the order in which EC2 shows them, the same one is taken.
func TestOneSubnetOfAZone(t *testing.T) {
	item := func(id, zone string) string {
		return fmt.Sprintf("<item><subnetId>%s</subnetId><availabilityZone>%s</availabilityZone><availabilityZoneId>use2-az1</availabilityZoneId></item>", id, zone)
	}
	for _, order := range [][3]string{{"subnet-1", "subnet-2", "subnet-3"}, {"subnet-3", "subnet-1", "subnet-2"}, {"subnet-2", "subnet-3", "subnet-1"}} {
		p := canned(t, map[string]string{"DescribeSubnets": "<subnetSet>" + item(order[0], "a") + item(order[1], "a") + item("subnet-9", "b") + item(order[2], "a") + "</subnetSet>"})
		got, err := p.region.subnets(t.Context(), p)
		if err != nil || len(got) != 2 || got["a"].id != "subnet-1" || got["b"].id != "subnet-9" {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// TestNewestSpotPrice: of several points of the history the last one counts.
func TestNewestSpotPrice(t *testing.T) {
	item := func(price, at string) string {
		return fmt.Sprintf("<item><instanceType>c7i.large</instanceType><productDescription>Linux/UNIX</productDescription><spotPrice>%s</spotPrice><timestamp>%s</timestamp><availabilityZone>us-east-2a</availabilityZone></item>", price, at)
	}
	p := canned(t, map[string]string{"DescribeSpotPriceHistory": "<spotPriceHistorySet>" + item("0.03", "2026-11-20T10:00:00.000Z") + item("0.04", "2026-11-21T10:00:00.000Z") + item("0.02", "2026-11-19T10:00:00.000Z") + item("cheap", "2026-11-22T10:00:00.000Z") + "</spotPriceHistorySet>"})
	p.now = func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }
	got, err := p.region.askSpot(t.Context(), p, &catalog{}, []string{"c7i.large"})
	if err != nil || len(got) != 1 || got[0].PerHour != 0.04 || got[0].Type != "c7i.large" || got[0].Zone != "us-east-2a" {
		t.Errorf("%v, %v", got, err)
	}
	p.now = func() time.Time { return time.Date(2027, 11, 22, 12, 0, 0, 0, time.UTC) }
	if got, err := p.region.askSpot(t.Context(), p, &catalog{}, []string{"c7i.large"}); err != nil || len(got) != 0 {
		t.Errorf("a year later: %v, %v", got, err)
	}
}

// TestRefusedPrices: what EC2's lists say in the shape of their own documentation, and cannot be true, is not taken: the table's price stays.
func TestRefusedPrices(t *testing.T) {
	spot := func(zone, price string) string {
		return fmt.Sprintf("<item><instanceType>p5.48xlarge</instanceType><productDescription>Linux/UNIX</productDescription><spotPrice>%s</spotPrice><timestamp>2026-11-21T10:00:00.000Z</timestamp><availabilityZone>%s</availabilityZone></item>", price, zone)
	}
	p := canned(t, map[string]string{"DescribeSpotPriceHistory": "<spotPriceHistorySet>" + spot("us-east-2a", "60.000000") + spot("us-east-2b", "0.000000") + spot("us-east-2c", "700.0") + spot("us-east-2d", "20.5") + "</spotPriceHistorySet>"})
	p.now = func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }
	p.log = quiet
	c := &catalog{}
	p.region.spot(t.Context(), p, c, []string{"p5.48xlarge"})
	for zone, want := range map[string]decision.Dollars{"us-east-2a": 55.04, "us-east-2b": 55.04, "us-east-2c": 55.04, "us-east-2d": 20.5} {
		if q, ok := p.catalogue.Price(c.spotKey("us-east-2", zone, "p5.48xlarge")); !ok || q.PerHour != want || q.Bound != (want == 55.04) {
			t.Errorf("%s: %+v, want $%v", zone, q, want)
		}
	}
	for usd, want := range map[decision.Dollars]decision.Dollars{700: 55.04, 0.00001: 55.04, 600: 55.04, 56: 56} {
		p.learn([]prices.Price{{Key: listKey("us-east-2", "p5.48xlarge"), PerHour: usd, At: p.now(), From: fromList}})
		if q, _ := p.catalogue.Price(listKey("us-east-2", "p5.48xlarge")); q.PerHour != want {
			t.Errorf("listed at $%v: %+v, want $%v", usd, q, want)
		}
		p.catalogue, _ = prices.New(prices.Config{Now: p.now})
	}
}

// TestStates: what EC2 shows is one of our four states.
func TestStates(t *testing.T) {
	item := func(state, reason string) string {
		return fmt.Sprintf(`<item><instanceId>i-%[1]s</instanceId><instanceState><name>%[1]s</name></instanceState><privateIpAddress>10.0.0.7</privateIpAddress>
			<launchTime>2026-11-20T10:00:00.000Z</launchTime><stateReason><code>%[2]s</code><message>words</message></stateReason></item>`, state, reason)
	}
	p := canned(t, map[string]string{"DescribeInstances": "<reservationSet><item><instancesSet>" + item("pending", "") + item("running", "") + item("shutting-down", "Client.UserInitiatedShutdown") +
		item("terminated", "Server.SpotInstanceTermination") + item("stopped", "Client.InstanceInitiatedShutdown") + item("stopping", "") + "<item><instanceId>i-none</instanceId></item></instancesSet></item></reservationSet>"})
	want := map[provider.InstanceID]provider.Instance{
		"i-pending": {State: provider.InstancePending}, "i-running": {State: provider.InstanceRunning},
		"i-shutting-down": {State: provider.InstanceEnding, Reason: "Client.UserInitiatedShutdown"},
		"i-terminated":    {State: provider.InstanceEnded, Reason: "Server.SpotInstanceTermination"},
		"i-stopped":       {State: provider.InstanceRunning, Reason: "Client.InstanceInitiatedShutdown"}, "i-stopping": {State: provider.InstanceRunning},
		"i-none": {State: provider.InstancePending},
	}
	all, err := p.find(t.Context(), p.region)
	if err != nil || len(all) != len(want) {
		t.Fatalf("%v, %v", all, err)
	}
	for _, m := range all {
		w := want[m.ID]
		if m.State != w.State || w.Reason != "" && m.Reason != w.Reason || m.ID != "i-none" && (m.Addr != "10.0.0.7" || m.Launched.Year() != 2026) {
			t.Errorf("%+v, want %+v", m, w)
		}
	}
}

// TestHalfAFleet: EC2 was told all or none. If it makes some all the same, they are ended, and the answer says so.
func TestHalfAFleet(t *testing.T) {
	answers := map[string]string{
		"DescribeSubnets":               "<subnetSet><item><subnetId>subnet-1</subnetId><availabilityZone>us-east-2a</availabilityZone></item></subnetSet>",
		"DescribeInstanceTypes":         "<instanceTypeSet><item><instanceType>c7i.large</instanceType></item></instanceTypeSet>",
		"DescribeInstanceTypeOfferings": "<instanceTypeOfferingSet><item><instanceType>c7i.large</instanceType><location>us-east-2a</location></item></instanceTypeOfferingSet>",
		"CreateLaunchTemplate":          "<launchTemplate/>", "DeleteLaunchTemplate": "<launchTemplate/>",
		"CreateFleet":        "<fleetId>f</fleetId><fleetInstanceSet><item><instanceIds><item>i-1</item><item>i-2</item></instanceIds></item></fleetInstanceSet>",
		"TerminateInstances": "<instancesSet/>",
		"DescribeInstances":  "<reservationSet/>",
	}
	r := gang(provider.Offering{ID: "c7i.large/us-east-2/on-demand", Type: "c7i.large", Region: "us-east-2", Market: provider.OnDemand, Arch: "x86_64"}, "g", 3)
	if _, err := canned(t, answers).Create(t.Context(), r); providertest.KindOf(err) != provider.KindStockOut {
		t.Errorf("half a fleet that could be ended: %v", err)
	}
	delete(answers, "TerminateInstances")
	if _, err := canned(t, answers).Create(t.Context(), r); providertest.KindOf(err) != provider.KindUnavailable {
		t.Errorf("half a fleet that lives on: %v", err)
	}
	for code, want := range map[string]provider.ErrorKind{"InsufficientInstanceCapacity": provider.KindStockOut, "UnfulfillableCapacity": provider.KindStockOut, "MaxSpotInstanceCountExceeded": provider.KindQuota,
		"UnauthorizedOperation": provider.KindDenied, "RequestLimitExceeded": provider.KindThrottled, "Client.InvalidParameterValue": provider.KindInvalid, "InternalError": provider.KindUnavailable} {
		answers["CreateFleet"] = "<fleetId>f</fleetId><fleetInstanceSet/><errorSet><item><errorCode>" + code + "</errorCode><errorMessage>words</errorMessage></item></errorSet>"
		if _, err := canned(t, answers).Create(t.Context(), r); providertest.KindOf(err) != want {
			t.Errorf("a fleet that fails with %s and status 200: %v", code, err)
		}
	}
	answers["CreateFleet"] = "<fleetId>f</fleetId><fleetInstanceSet/><errorSet/>"
	if _, err := canned(t, answers).Create(t.Context(), r); providertest.KindOf(err) != provider.KindUnavailable {
		t.Errorf("a fleet that says nothing: %v", err)
	}
}

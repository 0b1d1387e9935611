package aws

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	sdkec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud"
	"fsub/testbed/ec2"
)

func gang(o cloud.Offering, token string, count int) cloud.Request {
	r := cloud.Request{Token: token, Site: "aws", Offering: o, Count: count, Boot: cloud.Boot{
		URL: "https://10.0.0.1:6820", Pin: "cGlu", Token: "one-time", Agent: strings.Repeat("ab", 32), Lease: time.Minute, Metadata: "ec2", PowerOff: true,
		Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
	}}
	for i := range count {
		r.Names = append(r.Names, fmt.Sprintf("aws-pool-%d", 7+i))
	}
	return r
}

// last returns the parameters of the last call of an action.
func last(t *testing.T, c *ec2.Cloud, action string) url.Values {
	t.Helper()
	all := c.Calls()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Action == action {
			return all[i].Form
		}
	}
	t.Fatalf("%s was not called", action)
	return nil
}

func wants(t *testing.T, form url.Values, want map[string]string) {
	t.Helper()
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if got := form.Get(k); got != want[k] {
			t.Errorf("%s is %q, want %q", k, got, want[k])
		}
	}
}

// tagsIn are the tags of the n-th specification (from 1) of a request.
func tagsIn(form url.Values, prefix string, n int) map[string]string {
	tags := map[string]string{}
	for i := 1; form.Has(fmt.Sprintf("%sTagSpecification.%d.Tag.%d.Key", prefix, n, i)); i++ {
		at := fmt.Sprintf("%sTagSpecification.%d.Tag.%d.", prefix, n, i)
		tags[form.Get(at+"Key")] = form.Get(at + "Value")
	}
	return tags
}

func TestRunInstances(t *testing.T) {
	c, url := world(t, ec2.Config{Profiles: []string{"fsub-node"}})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.Tags, cfg.KeyName, cfg.InstanceProfile, cfg.VolumeGiB, cfg.RootDevice = map[string]string{"cost-center": "42/b"}, "", "fsub-node", 200, "/dev/xvda"
	p := open(t, cfg)
	r := gang(offer(t, p, "c7i.large/us-east-2a/spot"), "job-1-1", 3)
	made, err := p.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	form := last(t, c, "RunInstances")
	wants(t, form, map[string]string{
		"MinCount": "3", "MaxCount": "3", "ClientToken": "job-1-1", "InstanceType": "c7i.large",
		"ImageId": defaultImages["x86_64"], "InstanceInitiatedShutdownBehavior": "terminate",
		"MetadataOptions.HttpTokens": "required", "MetadataOptions.InstanceMetadataTags": "enabled",
		"InstanceMarketOptions.MarketType": "spot", "InstanceMarketOptions.SpotOptions.SpotInstanceType": "one-time",
		"InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior": "terminate", "InstanceMarketOptions.SpotOptions.MaxPrice": "",
		"IamInstanceProfile.Name": "fsub-node", "BlockDeviceMapping.1.Ebs.VolumeSize": "200", "BlockDeviceMapping.1.Ebs.VolumeType": "gp3",
		"BlockDeviceMapping.1.Ebs.DeleteOnTermination": "true", "BlockDeviceMapping.1.DeviceName": "/dev/xvda", "Placement.GroupName": "", "KeyName": "",
	})
	kinds := map[string]bool{}
	for i := 1; i <= 4; i++ {
		kinds[form.Get(fmt.Sprintf("TagSpecification.%d.ResourceType", i))] = true
		want := map[string]string{
			"fsub-federation": "test", "fsub-site": "aws", "fsub-gang": "job-1-1", "fsub-offering": r.Offering.ID, "fsub-names": "aws-pool-[7-9]",
			"Name": "aws-pool-[7-9]", "fsub-request": requestHash(&r), "cost-center": "42/b",
		}
		if got := tagsIn(form, "", i); !maps.Equal(got, want) {
			t.Errorf("tags %d: %v, want %v", i, got, want)
		}
	}
	if len(kinds) != 4 || !kinds["instance"] || !kinds["volume"] || !kinds["network-interface"] || !kinds["spot-instances-request"] {
		t.Errorf("what is tagged: %v", kinds)
	}
	script, err := base64.StdEncoding.DecodeString(form.Get("UserData"))
	if err != nil || string(script) != r.Boot.Script() || !strings.HasPrefix(string(script), "#!") {
		t.Errorf("user data %q: %v", script, err)
	}
	for i, m := range made {
		if m.Name != r.Names[i] || m.Token != "job-1-1" || m.Offering != r.Offering.ID || m.State != cloud.InstancePending {
			t.Errorf("machine %d: %+v", i, m)
		}
	}
	if n := c.Count("RunInstances"); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestTriesOnce: the SDK's own retryer sends a stock-out, which comes with status 500, three times.
func TestTriesOnce(t *testing.T) {
	c, url := world(t, ec2.Config{})
	p := open(t, standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey())))
	r := gang(offer(t, p, "c7i.large/us-east-2a/on-demand"), "g", 1)
	for code, kind := range map[string]cloud.ErrorKind{
		"InsufficientInstanceCapacity": cloud.KindStockOut, "RequestLimitExceeded": cloud.KindThrottled, "InternalError": cloud.KindUnavailable,
	} {
		c.ResetCalls()
		c.Inject(ec2.Fault{Kind: ec2.Refuse, Code: code})
		if _, err := p.Create(t.Context(), r); kindOf(err) != kind {
			t.Errorf("%s: %v", code, err)
		}
		if _, err := p.List(t.Context()); err == nil {
			t.Errorf("%s: List went well", code)
		}
		if n, m := c.Count("RunInstances"), c.Count("DescribeInstances"); n != 1 || m != 1 {
			t.Errorf("%s: %d calls of RunInstances, %d of DescribeInstances", code, n, m)
		}
		c.ClearFaults()
	}
}

func TestNear(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.Types = append(cfg.Types, Type{Name: "p5.48xlarge"})
	cfg.Regions[0].SecurityGroups = []string{group(t, c, url)}
	p := open(t, cfg)
	r := gang(offer(t, p, "p5.48xlarge/us-east-2a/on-demand"), "near-1", 2)
	r.Near = true
	if _, err := p.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	wants(t, last(t, c, "CreatePlacementGroup"), map[string]string{"GroupName": "fsub-aws-near-1", "Strategy": "cluster", "TagSpecification.1.ResourceType": "placement-group"})
	form := last(t, c, "RunInstances")
	want := map[string]string{"Placement.GroupName": "fsub-aws-near-1", "SubnetId": "", "SecurityGroupId.1": "", "NetworkInterface.33.NetworkCardIndex": ""}
	for i := range 32 {
		at := fmt.Sprintf("NetworkInterface.%d.", i+1)
		want[at+"NetworkCardIndex"], want[at+"DeviceIndex"], want[at+"InterfaceType"] = fmt.Sprint(i), "1", "efa-only"
		want[at+"SecurityGroupId.1"] = cfg.Regions[0].SecurityGroups[0]
	}
	want["NetworkInterface.1.DeviceIndex"], want["NetworkInterface.1.InterfaceType"] = "0", "efa"
	wants(t, form, want)
	if form.Get("NetworkInterface.1.SubnetId") == "" {
		t.Error("no subnet")
	}
	// Alone, or not near, it has one plain interface.
	if _, err := p.Create(t.Context(), gang(r.Offering, "far-1", 2)); err != nil {
		t.Fatal(err)
	}
	wants(t, last(t, c, "RunInstances"), map[string]string{"Placement.GroupName": "", "NetworkInterface.1.NetworkCardIndex": "", "SecurityGroupId.1": cfg.Regions[0].SecurityGroups[0]})
}

// group is the ID of the stand-in's security group.
func group(t *testing.T, c *ec2.Cloud, url string) string {
	t.Helper()
	p := open(t, standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey())))
	out, err := p.regions[0].ec2.DescribeSecurityGroups(t.Context(), &sdkec2.DescribeSecurityGroupsInput{})
	if err != nil || len(out.SecurityGroups) == 0 {
		t.Fatalf("no security group: %v", err)
	}
	return sdk.ToString(out.SecurityGroups[0].GroupId)
}

// TestEFACards: the first card carries IP, and EFA too unless the type has one card more than EFA interfaces.
func TestEFACards(t *testing.T) {
	info := func(efas, cards int32) *types.InstanceTypeInfo {
		return &types.InstanceTypeInfo{NetworkInfo: &types.NetworkInfo{EfaSupported: sdk.Bool(true), EfaInfo: &types.EfaInfo{MaximumEfaInterfaces: &efas}, MaximumNetworkCards: &cards}}
	}
	for _, c := range []struct {
		efas, cards int32
		first       string
		n           int
	}{{1, 1, "efa", 1}, {4, 4, "efa", 4}, {32, 32, "efa", 32}, {16, 17, "interface", 17}} {
		got := efaCards(info(c.efas, c.cards))
		efas := 0
		for _, one := range got {
			if one.kind != "interface" {
				efas++
			}
		}
		if got[0] != (card{0, 0, c.first}) || len(got) != c.n || efas != int(c.efas) || c.n > 1 && got[c.n-1] != (card{int32(c.n - 1), 1, "efa-only"}) {
			t.Errorf("%d EFA interfaces on %d cards: %v", c.efas, c.cards, got)
		}
	}
}

func TestReservations(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	block := c.AddBlock("p5.48xlarge", "us-east-2a", 2, 24*time.Hour)
	admin := open(t, cfg).regions[0].ec2
	out, err := admin.CreateCapacityReservation(t.Context(), &sdkec2.CreateCapacityReservationInput{
		InstanceType: sdk.String("c7i.large"), AvailabilityZone: sdk.String("us-east-2b"), InstanceCount: sdk.Int32(2), InstancePlatform: "Linux/UNIX",
		InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted})
	if err != nil {
		t.Fatal(err)
	}
	kept := sdk.ToString(out.CapacityReservation.CapacityReservationId)
	cfg.Types, cfg.Reservations = nil, []string{block, kept}
	p := open(t, cfg)
	const target = "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"
	for id, want := range map[string]map[string]string{
		"p5.48xlarge/us-east-2a/block/" + block: {target: block, "InstanceMarketOptions.MarketType": "capacity-block"},
		"c7i.large/us-east-2b/reserved/" + kept: {target: kept, "InstanceMarketOptions.MarketType": ""},
	} {
		o := offer(t, p, id)
		token := "g-" + o.Reservation
		if _, err := p.Create(t.Context(), gang(o, token, 2)); err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		wants(t, last(t, c, "RunInstances"), want)
		// It is full now: that is a stock-out of this offering.
		if _, err := p.Create(t.Context(), gang(o, token+"-more", 1)); kindOf(err) != cloud.KindStockOut {
			t.Errorf("one more of %s: %v", id, err)
		}
	}
}

func TestImages(t *testing.T) {
	c, url := world(t, ec2.Config{Images: []ec2.Image{
		{ID: "ami-00000000000000001", Name: "ours-1", Arch: "x86_64"}, {ID: "ami-00000000000000002", Name: "ours-2", Arch: "x86_64"}, {ID: "ami-00000000000000003", Name: "ours-3", Arch: "arm64"},
	}})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.Types = append(cfg.Types, Type{Name: "c7g.large"}, Type{Name: "g6.xlarge"})
	cfg.VolumeGiB = 10
	cfg.Images = map[string]string{"x86_64": "ami-00000000000000001", "arm64": "amazon/ours-*", "x86_64/gpu": "amazon/ours-2"}
	p := open(t, cfg)
	for id, want := range map[string]string{"c7i.large": "ami-00000000000000001", "c7g.large": "ami-00000000000000003", "g6.xlarge": "ami-00000000000000002"} {
		if _, err := p.Create(t.Context(), gang(offer(t, p, id+"/us-east-2a/on-demand"), "g-"+strings.ReplaceAll(id, ".", "-"), 1)); err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		form := last(t, c, "RunInstances")
		if form.Get("ImageId") != want || form.Get("BlockDeviceMapping.1.DeviceName") == "" {
			t.Errorf("%s boots %s, want %s; root volume %q", id, form.Get("ImageId"), want, form.Get("BlockDeviceMapping.1.DeviceName"))
		}
	}
	cfg.Images = map[string]string{"x86_64": "amazon/theirs-*"}
	p = open(t, cfg)
	if _, err := p.Create(t.Context(), gang(offer(t, p, "c7i.large/us-east-2a/on-demand"), "g", 1)); kindOf(err) != cloud.KindInvalid || !strings.Contains(err.Error(), "amazon/theirs-*") {
		t.Errorf("an image that is not there: %v", err)
	}
	cfg.Images = nil
	p = open(t, cfg)
	if _, err := p.Create(t.Context(), gang(offer(t, p, "c7i.large/us-east-2a/on-demand"), "g", 1)); kindOf(err) != cloud.KindInvalid || !strings.Contains(err.Error(), "/dev/xvda") {
		t.Errorf("a volume without its name: %v", err)
	}
}

// TestSameRequestInOtherWords: a gang that is asked for again after the configuration has changed is the same gang.
func TestSameRequestInOtherWords(t *testing.T) {
	for _, zone := range []string{"us-east-2a", "us-east-2"} {
		c, url := world(t, ec2.Config{})
		cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
		cfg.AnyZone = true
		p := open(t, cfg)
		r := gang(offer(t, p, "c7i.large/"+zone+"/on-demand"), "g", 3)
		made, err := p.Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Tags, cfg.VolumeGiB, cfg.RootDevice = map[string]string{"new": "yes"}, 50, "/dev/xvda"
		cfg.Types[0].Markets = []cloud.Market{cloud.OnDemand}
		again, err := open(t, cfg).Create(t.Context(), r)
		if err != nil || !slices.Equal(idsOf(made), idsOf(again)) || again[2].Name != r.Names[2] {
			t.Errorf("%s: %v became %v, %v", zone, made, again, err)
		}
		if c.Live() != 3 {
			t.Errorf("%s: %d machines", zone, c.Live())
		}
	}
}

func idsOf(all []cloud.Instance) []cloud.InstanceID {
	var ids []cloud.InstanceID
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	return ids
}

func TestManyNames(t *testing.T) {
	p := &Provider{cfg: Config{Site: "aws", Federation: "test"}}
	r := gang(cloud.Offering{ID: "x"}, "g", 3)
	r.Names = []string{"b-2", "a-1", "c-0"} // the order counts
	tags, err := p.gangTags(&r)
	if err != nil || tags[tagNames] != "b-2,a-1,c-0" {
		t.Errorf("%v, %v", tags, err)
	}
	r.Names = nil
	for i := range 400 {
		r.Names = append(r.Names, fmt.Sprintf("n%d", 3*i))
	}
	r.Count = len(r.Names)
	if tags, err = p.gangTags(&r); err != nil {
		t.Fatal(err)
	}
	for k, v := range tags {
		if len(v) > maxTagValue {
			t.Errorf("%s has %d characters", k, len(v))
		}
	}
	for _, at := range []int32{0, 201, 399} {
		if got := name(&types.Instance{AmiLaunchIndex: sdk.Int32(at)}, tags); got != r.Names[at] {
			t.Errorf("machine %d is %q", at, got)
		}
	}
	if got := name(&types.Instance{AmiLaunchIndex: sdk.Int32(400)}, tags); got != "" {
		t.Errorf("a machine beyond the gang is %q", got)
	}
	r.Names = nil
	for i := range 3000 {
		r.Names = append(r.Names, fmt.Sprintf("n%d", 3*i))
	}
	if _, err := p.gangTags(&r); kindOf(err) != cloud.KindInvalid {
		t.Errorf("more names than tags hold: %v", err)
	}
}

// TestRequestHash: whatever makes a request another one is in it, and nothing that changes by itself.
func TestRequestHash(t *testing.T) {
	base := func() cloud.Request { return gang(cloud.Offering{ID: "x", Type: "t", Price: 1}, "g", 2) }
	r := base()
	first := requestHash(&r)
	for what, change := range map[string]func(*cloud.Request){
		"token": func(r *cloud.Request) { r.Token = "h" }, "offering": func(r *cloud.Request) { r.Offering.ID = "y" }, "near": func(r *cloud.Request) { r.Near = true },
		"names": func(r *cloud.Request) { r.Names[1] = "z" }, "count": func(r *cloud.Request) { r.Count = 3 }, "boot": func(r *cloud.Request) { r.Boot.Token = "z" },
		"names run together": func(r *cloud.Request) { r.Names = []string{r.Names[0] + r.Names[1]} },
	} {
		r := base()
		change(&r)
		if requestHash(&r) == first {
			t.Errorf("another %s is no other request", what)
		}
	}
	r.Offering.Price, r.Offering.PricedAt = 2, time.Now()
	if requestHash(&r) != first {
		t.Error("another price is another request")
	}
}

// TestPolicy: everything that is called is allowed, and nothing is allowed that is never called.
func TestPolicy(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.AnyZone, cfg.Reservations, cfg.Images, cfg.VolumeGiB = true, []string{"cr-0"}, map[string]string{"x86_64": "amazon/al2023-*"}, 30
	now := time.Now()
	cfg.Now = func() time.Time { return now }
	p := open(t, cfg)
	for _, id := range []string{"c7i.large/us-east-2a/spot", "c7i.large/us-east-2/on-demand"} {
		r := gang(offer(t, p, id), "g"+strings.ReplaceAll(id[9:], "/", "-"), 2)
		r.Near = true
		made, err := p.Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Topology(t.Context(), idsOf(made)); err != nil {
			t.Fatal(err)
		}
		if err := p.Delete(t.Context(), idsOf(made)); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "all ended", func() bool { return c.Live() == 0 })
	for range 3 {
		now = now.Add(sweepEvery)
		if _, err := p.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var policy struct {
		Statement []struct{ Action any }
	}
	if err := json.Unmarshal([]byte(Policy), &policy); err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for _, s := range policy.Statement {
		if one, ok := s.Action.(string); ok {
			allowed[one] = true
			continue
		}
		for _, a := range s.Action.([]any) {
			allowed[a.(string)] = true
		}
	}
	called := map[string]bool{"pricing:GetProducts": true, "ssm:GetParameters": true, "iam:PassRole": true, "iam:CreateServiceLinkedRole": true}
	for _, call := range c.Calls() {
		called["ec2:"+call.Action] = true
	}
	if !maps.Equal(allowed, called) {
		t.Errorf("allowed %v\ncalled  %v", slices.Sorted(maps.Keys(allowed)), slices.Sorted(maps.Keys(called)))
	}
}

// TestSecrets: nothing that is sent, said or written holds the secret key, and the script of a machine holds no key at all.
func TestSecrets(t *testing.T) {
	c, url := world(t, ec2.Config{})
	file := credentials(t, c.AccessKey(), c.SecretKey())
	cfg := standIn(c, url, file)
	rec := &recorder{}
	cfg.HTTP = rec
	cfg.AnyZone = true
	cfg.Logger = rec.logger()
	p := open(t, cfg)
	var said []string
	for i, id := range []string{"c7i.large/us-east-2a/on-demand", "c7i.large/us-east-2/spot"} {
		r := gang(offer(t, p, id), fmt.Sprint("g", i), 2)
		made, err := p.Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, fmt.Sprintf("%+v", made))
		c.Deny("")
		for _, err := range []error{p.Delete(t.Context(), idsOf(made)), second(p.List(t.Context())), second(p.Create(t.Context(), gang(r.Offering, "h", 1)))} {
			said = append(said, fmt.Sprintf("%v\n%#v", err, err))
		}
		c.ClearFaults()
	}
	// A secret that is not good: the answer repeats what it was sent.
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = "+c.AccessKey()+"\naws_secret_access_key = "+strings.Repeat("wrong", 8)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, cfg).List(t.Context())
	if kindOf(err) != cloud.KindDenied {
		t.Errorf("with a wrong secret: %v", err)
	}
	said = append(said, fmt.Sprintf("%v\n%#v", err, err))
	if len(rec.seen) < 10 {
		t.Errorf("%d requests seen", len(rec.seen))
	}
	for _, text := range append(rec.seen, append(said, rec.logged())...) {
		for _, secret := range []string{c.SecretKey(), strings.Repeat("wrong", 8)} {
			if strings.Contains(text, secret) || strings.Contains(text, neturl(secret)) {
				t.Errorf("the secret is in %.2000s", text)
			}
		}
	}
	for _, text := range append(said, rec.logged()) {
		if strings.Contains(text, c.AccessKey()) {
			t.Errorf("the key's ID is in %.2000s", text)
		}
	}
	for _, i := range c.Instances() {
		if strings.Contains(i.UserData, c.AccessKey()) || strings.Contains(strings.ToLower(i.UserData), "aws_") || !strings.Contains(i.UserData, "one-time") {
			t.Errorf("user data: %s", i.UserData)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func neturl(s string) string { return url.QueryEscape(s) }

func TestConfigErrors(t *testing.T) {
	good := func() Config {
		return Config{Site: "aws", Federation: "f", Regions: []Region{{Name: "us-east-2"}}, Types: []Type{{Name: "c7i.large"}}}
	}
	for want, spoil := range map[string]func(*Config){
		"need names":           func(c *Config) { c.Federation = "" },
		"nothing would be":     func(c *Config) { c.Types = nil },
		`type "c7i"`:           func(c *Config) { c.Types[0].Name = "c7i" },
		`market "cheap"`:       func(c *Config) { c.Types[0].Markets = []cloud.Market{"cheap"} },
		"listed by their IDs":  func(c *Config) { c.Types[0].Markets = []cloud.Market{cloud.Reserved} },
		"not negative":         func(c *Config) { c.Types[0].Price = -1 },
		`reservation "p5"`:     func(c *Config) { c.Reservations = []string{"p5"} },
		`image "whatever"`:     func(c *Config) { c.Images = map[string]string{"x86_64": "whatever"} },
		`image for "sparc"`:    func(c *Config) { c.Regions[0].Images = map[string]string{"sparc": "ami-1"} },
		"without a name":       func(c *Config) { c.Regions[0].Name = "" },
		`tag "fsub-site"`:      func(c *Config) { c.Tags = map[string]string{"fsub-site": "x"} },
		`tag "cost center"`:    func(c *Config) { c.Tags = map[string]string{"cost center": "x"} },
		"volume of -1":         func(c *Config) { c.VolumeGiB = -1 },
		"-2 interruptions":     func(c *Config) { c.SpotInterrupts = -2 },
		"SDK's configuration:": func(c *Config) { c.Profile = "no-such-profile" },
	} {
		credentials(t, "AKIAIOSFODNN7EXAMPLE", "x")
		c := good()
		spoil(&c)
		if _, err := New(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "aws: ") {
			t.Errorf("%q: %v", want, err)
		}
	}
	if _, err := New(t.Context(), good()); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

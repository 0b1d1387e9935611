package ec2_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/testbed/ec2"
)

func spotly(in *sdk.RunInstancesInput) {
	in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
}

func inZone(zone string) func(*sdk.RunInstancesInput) {
	return func(in *sdk.RunInstancesInput) { in.Placement = &types.Placement{AvailabilityZone: &zone} }
}

// httpStatus is the status that an error came with.
func httpStatus(err error) int {
	var r *awshttp.ResponseError
	if errors.As(err, &r) {
		return r.HTTPStatusCode()
	}
	return 0
}

func TestStockAndQuota(t *testing.T) {
	c, client := newCloud(t, ec2.Config{})
	ctx := t.Context()
	c.SetStock(ec2.Pool{Type: "g6.xlarge", Zone: "us-east-2a"}, 0)
	_, err := run(ctx, client, 1, inZone("us-east-2a"))
	refused(t, "a zone that is out", err, "InsufficientInstanceCapacity", "us-east-2a")
	if httpStatus(err) != http.StatusInternalServerError {
		t.Errorf("status %d, EC2 sends 500", httpStatus(err))
	}
	if in := mustRun(t, client, 1, nil); *in[0].Placement.AvailabilityZone != "us-east-2b" {
		t.Errorf("any zone: %s", *in[0].Placement.AvailabilityZone)
	}
	c.SetStock(ec2.Pool{Market: "spot"}, 2)
	got, err := run(ctx, client, 3, func(in *sdk.RunInstancesInput) { spotly(in); in.MinCount = aws.Int32(1) })
	if err != nil || len(got.Instances) != 2 {
		t.Errorf("1 to 3 of 2: %v", err)
	}
	_, err = run(ctx, client, 1, spotly)
	refused(t, "none is left", err, "InsufficientInstanceCapacity", "Spot")
	if _, err := client.TerminateInstances(ctx, &sdk.TerminateInstancesInput{InstanceIds: []string{*got.Instances[0].InstanceId}}); err != nil {
		t.Fatal(err)
	}
	mustRun(t, client, 1, spotly)
	c.ClearFaults()
	c.SetQuota("spot", 12)
	_, err = run(ctx, client, 2, spotly)
	refused(t, "16 vCPUs of 12", err, "MaxSpotInstanceCountExceeded", "Max spot")
	c.SetQuota("on-demand", 0)
	_, err = run(ctx, client, 1, nil)
	refused(t, "quota 0", err, "VcpuLimitExceeded", "limit of 0")
}

func TestCallsAreRefused(t *testing.T) {
	c, client := newCloud(t, ec2.Config{})
	ctx := t.Context()
	describe := func() error {
		_, err := client.DescribeInstances(ctx, &sdk.DescribeInstancesInput{})
		return err
	}
	c.SetRate("DescribeInstances", 0.001, 2)
	for range 2 {
		if err := describe(); err != nil {
			t.Fatal(err)
		}
	}
	err := describe()
	refused(t, "the third call", err, "RequestLimitExceeded", "exceeded")
	if httpStatus(err) != http.StatusServiceUnavailable {
		t.Errorf("status %d, EC2 sends 503", httpStatus(err))
	}
	c.SetRate("DescribeInstances", 0, 0)
	c.Inject(ec2.Fault{Kind: ec2.Refuse, Times: 2, Code: "InternalError"})
	refused(t, "a fault", describe(), "InternalError", "")
	refused(t, "a second", describe(), "InternalError", "")
	if err := describe(); err != nil {
		t.Errorf("after both: %v", err)
	}
	c.Deny("RunInstances")
	_, err = run(ctx, client, 1, func(in *sdk.RunInstancesInput) { in.DryRun = aws.Bool(true) })
	refused(t, "without the permission", err, "UnauthorizedOperation", "ec2:RunInstances")
	if err := describe(); err != nil {
		t.Errorf("another action: %v", err)
	}
	if n := c.Count("DescribeInstances"); n != 7 {
		t.Errorf("%d calls counted, 7 made", n)
	}
}

func TestSignatures(t *testing.T) {
	c, good := newCloud(t, ec2.Config{AccessKey: "AKIATEST", SecretKey: "wJalr/XUtn+FEMI"})
	url, err := c.Start("")
	if err != nil {
		t.Fatal(err)
	}
	in := &sdk.DescribeInstancesInput{}
	if _, err := good.DescribeInstances(t.Context(), in); err != nil {
		t.Error(err)
	}
	_, err = client(c, url, "wrong").DescribeInstances(t.Context(), in)
	refused(t, "a wrong secret", err, "SignatureDoesNotMatch", "signature")
	stranger := sdk.New(sdk.Options{BaseEndpoint: &url, Region: c.Region(), RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("AKIAOTHER", "wJalr/XUtn+FEMI", "")})
	_, err = stranger.DescribeInstances(t.Context(), in)
	refused(t, "an unknown key", err, "AuthFailure", "credentials")
	resp, err := http.Post(url, "application/x-www-form-urlencoded", strings.NewReader("Action=DescribeInstances&Version=2016-11-15"))
	if err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("without a signature: %v %v", resp, err)
	}
	resp.Body.Close()
	for _, call := range c.Calls() {
		if strings.Contains(fmt.Sprint(call), "wJalr/XUtn+FEMI") {
			t.Errorf("a secret in a call: %v", call)
		}
	}
}

// TestLostCalls: what a caller cannot tell apart, the cloud can.
func TestLostCalls(t *testing.T) {
	c, client := newCloud(t, ec2.Config{})
	token := func(in *sdk.RunInstancesInput) { in.ClientToken = aws.String("t") }
	c.Inject(ec2.Fault{Action: "RunInstances", Kind: ec2.LoseRequest, Times: 1})
	if _, err := run(t.Context(), client, 1, token); err == nil || c.Live() != 0 {
		t.Errorf("lost request: %v, %d live", err, c.Live())
	}
	c.Inject(ec2.Fault{Action: "RunInstances", Kind: ec2.LoseReply, Times: 1})
	if _, err := run(t.Context(), client, 1, token); err == nil || httpStatus(err) != 0 || c.Live() != 1 {
		t.Errorf("lost reply: %v, %d live", err, c.Live())
	}
	if in := mustRun(t, client, 1, token); *in[0].InstanceId != c.Instances()[0].ID || c.Live() != 1 {
		t.Errorf("again: %s, %d live", *in[0].InstanceId, c.Live())
	}
	c.Inject(ec2.Fault{Kind: ec2.Hang, Times: 1})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for c.Count("") < 4 && ctx.Err() == nil { // until it has come
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := run(ctx, client, 1, nil); err == nil || ctx.Err() == nil || c.Live() != 1 {
		t.Errorf("hang: %v, %d live", err, c.Live())
	}
	if got := c.Calls()[2].Fault; len(c.Calls()) != 4 || c.Calls()[1].Fault != ec2.LoseReply || got != "" {
		t.Errorf("recorded: %v", c.Calls())
	}
}

// TestBoots runs in virtual time, without a network.
func TestBoots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := virtualCloud(t, ec2.Config{Gone: time.Hour, Pending: 10 * time.Second, Ending: 5 * time.Second, Lead: 2 * time.Minute})
		c.SetBoot(ec2.Pool{Type: "g5.xlarge"}, ec2.Boot{Delay: time.Minute})
		c.SetBoot(ec2.Pool{Type: "p5.48xlarge"}, ec2.Boot{Die: 0.5})
		mustRun(t, client, 1, spotly)
		mustRun(t, client, 1, func(in *sdk.RunInstancesInput) { in.InstanceType = "g5.xlarge" })
		mustRun(t, client, 3, func(in *sdk.RunInstancesInput) { in.InstanceType = "p5.48xlarge" })
		want := func(when string, states ...string) {
			t.Helper()
			var got []string
			for _, in := range c.Instances() {
				got = append(got, in.State)
			}
			if !slices.Equal(got, states) {
				t.Errorf("%s: %v, want %v", when, got, states)
			}
		}
		want("at once", "pending", "pending", "pending", "pending", "pending")
		time.Sleep(11 * time.Second)
		want("after 11 s", "running", "pending", "running", "terminated", "terminated")
		time.Sleep(time.Minute)
		want("after a minute", "running", "running", "running", "terminated", "terminated")
		spot := c.Instances()[0].ID
		if err := c.SpotNotice(spot, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(119 * time.Second)
		want("a second before the end", "running", "running", "running", "terminated", "terminated")
		time.Sleep(2 * time.Second)
		want("the end", "shutting-down", "running", "running", "terminated", "terminated")
		time.Sleep(5 * time.Second)
		want("after it", "terminated", "running", "running", "terminated", "terminated")
		if err := c.Kill(spot); err == nil {
			t.Error("an ended instance was ended")
		}
		time.Sleep(time.Hour)
		want("an hour later", "running", "running")
		if got := states(t, client); len(got) != 2 {
			t.Errorf("an hour later the listing has %v", got)
		}
	})
}

// TestListingsLag: an instance and its states are seen late, by ID and by filter.
func TestListingsLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := virtualCloud(t, ec2.Config{Lag: 10 * time.Second, Gone: time.Hour})
		id := *mustRun(t, client, 1, nil)[0].InstanceId
		time.Sleep(5 * time.Second)
		if got := states(t, client); len(got) != 0 || c.Live() != 1 {
			t.Errorf("after 5 s: %v", got)
		}
		_, err := client.DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{InstanceIds: []string{id}})
		refused(t, "by ID", err, "InvalidInstanceID.NotFound", id)
		time.Sleep(6 * time.Second)
		if got := states(t, client); !slices.Equal(got, []string{"running"}) {
			t.Errorf("after 11 s: %v", got)
		}
		if _, err := client.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if got := states(t, client); !slices.Equal(got, []string{"running"}) {
			t.Errorf("5 s after the end: %v", got)
		}
	})
}

// TestManyInstances: 5,000 machines are five pages.
func TestManyInstances(t *testing.T) {
	c, client := virtualCloud(t, ec2.Config{})
	for range 10 {
		mustRun(t, client, 500, nil)
	}
	c.ResetCalls()
	seen := map[string]bool{}
	addresses := map[string]bool{}
	for pages := sdk.NewDescribeInstancesPaginator(client, &sdk.DescribeInstancesInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Reservations {
			for _, in := range r.Instances {
				seen[*in.InstanceId] = true
				addresses[*in.PrivateIpAddress] = true
			}
		}
	}
	if len(seen) != 5000 || len(addresses) != 5000 || c.Count("") != 5 {
		t.Errorf("%d instances with %d addresses in %d calls", len(seen), len(addresses), c.Count(""))
	}
}

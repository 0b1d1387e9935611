package ec2_test

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"fsub/testbed/ec2"
)

// newCloud is a cloud and a client of the official SDK for it, over a real connection.
func newCloud(t *testing.T, cfg ec2.Config) (*ec2.Cloud, *sdk.Client) {
	t.Helper()
	c := ec2.New(cfg)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	url, err := c.Start("")
	if err != nil {
		t.Fatal(err)
	}
	return c, client(c, url, c.SecretKey())
}

func client(c *ec2.Cloud, url, secret string) *sdk.Client {
	return sdk.New(sdk.Options{BaseEndpoint: aws.String(url), Region: c.Region(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(c.AccessKey(), secret, "")})
}

// virtualCloud is a cloud for tests in virtual time, and a client that reaches it without a network.
func virtualCloud(t *testing.T, cfg ec2.Config) (*ec2.Cloud, *sdk.Client) {
	t.Helper()
	c := ec2.New(cfg)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, sdk.New(sdk.Options{BaseEndpoint: aws.String("http://ec2"), HTTPClient: c.Client(), Region: c.Region(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(c.AccessKey(), c.SecretKey(), "")})
}

// image is the stand-in's image for x86_64.
const image = "ami-0a1b2c3d4e5f60001"

// run asks for count instances; change may add to the request.
func run(ctx context.Context, client *sdk.Client, count int32, change func(*sdk.RunInstancesInput)) (*sdk.RunInstancesOutput, error) {
	in := &sdk.RunInstancesInput{ImageId: aws.String(image), InstanceType: "g6.xlarge", MinCount: &count, MaxCount: &count}
	if change != nil {
		change(in)
	}
	return client.RunInstances(ctx, in)
}

func mustRun(t *testing.T, client *sdk.Client, count int32, change func(*sdk.RunInstancesInput)) []types.Instance {
	t.Helper()
	out, err := run(t.Context(), client, count, change)
	if err != nil {
		t.Fatal(err)
	}
	return out.Instances
}

// refused checks that err is a refusal with this code and text, and status where that is not 0.
func refused(t *testing.T, what string, err error, code, text string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
		t.Errorf("%s: %v, want %s with %q", what, err, code, text)
	}
}

// until waits for what must come true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after two minutes", what)
		}
	}
}

// states returns the states of all instances that DescribeInstances shows, sorted.
func states(t *testing.T, client *sdk.Client, filters ...types.Filter) []string {
	t.Helper()
	out := []string{}
	pages := sdk.NewDescribeInstancesPaginator(client, &sdk.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(5)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				out = append(out, string(i.State.Name))
			}
		}
	}
	slices.Sort(out)
	return out
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}

func TestLifeOfInstances(t *testing.T) {
	_, client := newCloud(t, ec2.Config{Gone: time.Hour})
	made := mustRun(t, client, 12, func(in *sdk.RunInstancesInput) {
		in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\n")))
		in.Placement = &types.Placement{AvailabilityZone: aws.String("us-east-2b")}
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
		in.MetadataOptions = &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateRequired, InstanceMetadataTags: types.InstanceMetadataTagsStateEnabled}
		in.InstanceInitiatedShutdownBehavior = types.ShutdownBehaviorTerminate
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("fed:token"), Value: aws.String("a/b")}}}}
	})
	first := made[0]
	if len(made) != 12 || first.State.Name != "pending" || *first.Placement.AvailabilityZone != "us-east-2b" || first.InstanceLifecycle != "spot" ||
		*first.Tags[0].Value != "a/b" || !strings.HasPrefix(*first.PrivateIpAddress, "127.") || first.LaunchTime.IsZero() {
		t.Errorf("made %d: %+v", len(made), first)
	}
	tagged := filter("tag:fed:token", "a/*")
	until(t, "all run", func() bool {
		return slices.Equal(states(t, client, tagged, filter("instance-state-name", "running")), slices.Repeat([]string{"running"}, 12))
	})
	if got := states(t, client, filter("tag:fed:token", "other")); len(got) != 0 {
		t.Errorf("filtered: %v", got)
	}
	id := []string{*first.InstanceId}
	if _, err := client.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: id, Tags: []types.Tag{{Key: aws.String("x"), Value: aws.String("y")}}}); err != nil {
		t.Error(err)
	}
	if got := states(t, client, filter("tag:x", "y")); len(got) != 1 {
		t.Errorf("with the new tag: %v", got)
	}
	unknown := []string{*first.InstanceId, "i-0123456789abcdef0"}
	_, err := client.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: unknown})
	refused(t, "terminate a known and an unknown one", err, "InvalidInstanceID.NotFound", "i-0123456789abcdef0")
	if got := states(t, client, filter("instance-state-name", "running")); len(got) != 12 {
		t.Errorf("%d run after a refused batch", len(got))
	}
	end, err := client.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: id})
	if err != nil || end.TerminatingInstances[0].CurrentState.Name != "shutting-down" || end.TerminatingInstances[0].PreviousState.Name != "running" {
		t.Fatal(err, end)
	}
	until(t, "terminated is shown", func() bool { return slices.Contains(states(t, client), "terminated") })
}

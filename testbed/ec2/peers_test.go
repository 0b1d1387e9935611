package ec2_test

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
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

// TestAWSCommand: the aws command line has its own signer, its own model and its own parser.
func TestAWSCommand(t *testing.T) {
	program, err := exec.LookPath("aws")
	if err != nil {
		t.Skip("SKIPPED: no aws command line: the stand-in is tried with the SDK for Go alone")
	}
	c := ec2.New(ec2.Config{})
	t.Cleanup(func() { c.Close() })
	url, err := c.Start("")
	if err != nil {
		t.Fatal(err)
	}
	call := func(out any, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, append(args, "--endpoint-url", url, "--output", "json")...)
		cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+c.AccessKey(), "AWS_SECRET_ACCESS_KEY="+c.SecretKey(), "AWS_DEFAULT_REGION="+c.Region(),
			"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_MAX_ATTEMPTS=1")
		var text, errText strings.Builder
		cmd.Stdout, cmd.Stderr = &text, &errText
		if err := cmd.Run(); err != nil {
			return errText.String()
		}
		if out != nil {
			if err := json.Unmarshal([]byte(text.String()), out); err != nil {
				t.Errorf("%v: %v in %q", args, err, text.String())
			}
		}
		return ""
	}
	good := func(out any, args ...string) {
		t.Helper()
		if bad := call(out, args...); bad != "" {
			t.Fatalf("aws %s: %s", strings.Join(args, " "), bad)
		}
	}
	var made struct {
		Instances []struct {
			InstanceID string
			Placement  struct{ AvailabilityZone, GroupName string }
			Tags       []struct{ Key, Value string }
		}
	}
	good(nil, "ec2", "create-placement-group", "--group-name", "near", "--strategy", "cluster")
	good(&made, "ec2", "run-instances", "--image-id", image, "--instance-type", "p5.48xlarge", "--count", "2", "--placement", "GroupName=near", "--client-token", "t",
		"--instance-market-options", "MarketType=spot,SpotOptions={SpotInstanceType=one-time}", "--user-data", "#!/bin/sh", "--metadata-options", "HttpTokens=required",
		"--tag-specifications", "ResourceType=instance,Tags=[{Key=Name,Value=a b}]", "--instance-initiated-shutdown-behavior", "terminate")
	if len(made.Instances) != 2 || made.Instances[0].Placement.GroupName != "near" || made.Instances[0].Tags[0].Value != "a b" || c.Instances()[0].UserData != "#!/bin/sh" {
		t.Fatalf("%+v", made)
	}
	id := made.Instances[1].InstanceID
	var topology struct {
		Instances []struct{ NetworkNodes []string }
	}
	until(t, "they run", func() bool { return instance(c, 1).State == "running" })
	good(&topology, "ec2", "describe-instance-topology", "--instance-ids", id)
	if len(topology.Instances) != 1 || len(topology.Instances[0].NetworkNodes) != 3 {
		t.Errorf("%+v", topology)
	}
	var list struct {
		Reservations []struct{ Instances []struct{ InstanceID string } }
	}
	good(&list, "ec2", "describe-instances", "--filters", "Name=tag:Name,Values=a*", "Name=instance-state-name,Values=running", "--page-size", "5")
	if len(list.Reservations) != 1 || len(list.Reservations[0].Instances) != 2 {
		t.Errorf("%+v", list)
	}
	var prices struct{ PriceList []string }
	good(&prices, "pricing", "get-products", "--service-code", "AmazonEC2", "--filters", "Type=TERM_MATCH,Field=instanceType,Value=p5.48xlarge", "Type=TERM_MATCH,Field=operatingSystem,Value=Linux")
	if len(prices.PriceList) != 6 {
		t.Errorf("%d prices", len(prices.PriceList))
	}
	good(nil, "ec2", "terminate-instances", "--instance-ids", id)
	if bad := call(nil, "ec2", "terminate-instances", "--instance-ids", id, "i-0123456789abcdef0"); !strings.Contains(bad, "(InvalidInstanceID.NotFound)") {
		t.Errorf("an unknown instance: %s", bad)
	}
}

// moto starts Amazon's other stand-in, and returns a client of it.
func moto(t *testing.T) *sdk.Client {
	t.Helper()
	program, err := exec.LookPath("moto_server")
	if err != nil {
		t.Skip("SKIPPED: no moto_server: the stand-in is not compared with it")
	}
	for range 5 { // somebody else may take the port before it does
		if url := startMoto(t, program); url != "" {
			return sdk.New(sdk.Options{BaseEndpoint: &url, Region: "us-east-2", RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
		}
	}
	t.Fatal("moto_server does not start")
	return nil
}

// startMoto starts moto_server on a free port and returns its URL when it answers, "" if it has ended.
func startMoto(t *testing.T, program string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url = "http://" + l.Addr().String()
	host, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	cmd := exec.Command(program, "-H", host, "-p", port)
	cmd.Env = append(os.Environ(), "MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION=true", "MOTO_ENABLE_AMI_VALIDATION=true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() { cmd.Process.Kill(); <-ended })
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		select {
		case <-ended:
			return ""
		case <-time.After(50 * time.Millisecond):
		}
		if answer, err := http.Get(url + "/moto-api/data.json"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return url
			}
		}
	}
	t.Fatal("moto_server is not up after five minutes")
	return ""
}

// TestAsMoto asks both stand-ins the same, and compares what two independent readers of Amazon's documentation made of it.
func TestAsMoto(t *testing.T) {
	other := moto(t)
	_, ours := newCloud(t, ec2.Config{})
	t.Run("refusals", func(t *testing.T) { sameRefusals(t, ours, other) })
	t.Run("types", func(t *testing.T) { sameTypes(t, ours, other) })
	t.Run("life", func(t *testing.T) { sameLife(t, ours, other) })
}

func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func sameRefusals(t *testing.T, ours, other *sdk.Client) {
	ctx := t.Context()
	instances := func(ids ...string) func(*sdk.Client) error {
		return func(c *sdk.Client) error {
			_, err := c.DescribeInstances(ctx, &sdk.DescribeInstancesInput{InstanceIds: ids})
			return err
		}
	}
	launch := func(change func(*sdk.RunInstancesInput)) func(*sdk.Client) error {
		return func(c *sdk.Client) error {
			images, err := c.DescribeImages(ctx, &sdk.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{filter("architecture", "x86_64"), filter("virtualization-type", "hvm")}})
			if err != nil {
				return err
			}
			_, err = run(ctx, c, 1, func(in *sdk.RunInstancesInput) { in.ImageId = images.Images[0].ImageId; change(in) })
			return err
		}
	}
	for what, ask := range map[string]func(*sdk.Client) error{
		"unknown instance":   instances("i-0123456789abcdef0"),
		"unknown instances":  instances("i-0123456789abcdef0", "i-0123456789abcdef1"),
		"malformed instance": instances("machine-1"),
		"end of an unknown one": func(c *sdk.Client) error {
			_, err := c.TerminateInstances(ctx, &sdk.TerminateInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}})
			return err
		},
		"unknown type": func(c *sdk.Client) error {
			_, err := c.DescribeInstanceTypes(ctx, &sdk.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"g6.tiny"}})
			return err
		},
		"unknown subnet": func(c *sdk.Client) error {
			_, err := c.DescribeSubnets(ctx, &sdk.DescribeSubnetsInput{SubnetIds: []string{"subnet-0123456789abcdef0"}})
			return err
		},
		"unknown security group": launch(func(in *sdk.RunInstancesInput) { in.SecurityGroupIds = []string{"sg-0123456789abcdef0"} }),
		"unknown image":          launch(func(in *sdk.RunInstancesInput) { in.ImageId = aws.String("ami-0123456789abcdef0") }),
		"dry run":                launch(func(in *sdk.RunInstancesInput) { in.DryRun = aws.Bool(true) }),
		"unknown template": func(c *sdk.Client) error {
			_, err := c.DescribeLaunchTemplates(ctx, &sdk.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"none"}})
			return err
		},
	} {
		a, b := codeOf(ask(ours)), codeOf(ask(other))
		if what == "malformed instance" && b == "InvalidInstanceID.NotFound" {
			b = "InvalidInstanceID.Malformed" // moto has Amazon's code for it, and uses it in few places
		}
		if a != b || a == "" {
			t.Errorf("%s: %q here, %q from moto", what, a, b)
		}
	}
}

// sameTypes compares what both say of each type in our table.
func sameTypes(t *testing.T, ours, other *sdk.Client) {
	all := func(c *sdk.Client) map[types.InstanceType]types.InstanceTypeInfo {
		out := map[types.InstanceType]types.InstanceTypeInfo{}
		for pages := sdk.NewDescribeInstanceTypesPaginator(c, &sdk.DescribeInstanceTypesInput{}); pages.HasMorePages(); {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range page.InstanceTypes {
				out[i.InstanceType] = i
			}
		}
		return out
	}
	theirs, compared := all(other), 0
	for name, a := range all(ours) {
		b, ok := theirs[name]
		if !ok {
			continue
		}
		compared++
		if *a.VCpuInfo.DefaultVCpus != *b.VCpuInfo.DefaultVCpus || *a.MemoryInfo.SizeInMiB != *b.MemoryInfo.SizeInMiB || gpus(a) != gpus(b) ||
			a.ProcessorInfo.SupportedArchitectures[0] != b.ProcessorInfo.SupportedArchitectures[0] || aws.ToBool(a.NetworkInfo.EfaSupported) != aws.ToBool(b.NetworkInfo.EfaSupported) {
			t.Errorf("%s: %d vCPUs, %d MiB, %d GPUs, EFA %v here; %d, %d, %d, %v at moto", name, *a.VCpuInfo.DefaultVCpus, *a.MemoryInfo.SizeInMiB, gpus(a),
				aws.ToBool(a.NetworkInfo.EfaSupported), *b.VCpuInfo.DefaultVCpus, *b.MemoryInfo.SizeInMiB, gpus(b), aws.ToBool(b.NetworkInfo.EfaSupported))
		}
	}
	if compared < 80 {
		t.Errorf("only %d types are known to both", compared)
	}
}

func gpus(i types.InstanceTypeInfo) (n int32) {
	if i.GpuInfo != nil {
		for _, g := range i.GpuInfo.Gpus {
			n += aws.ToInt32(g.Count)
		}
	}
	return n
}

// sameLife takes an instance through its life at both, and compares the fields that are there.
func sameLife(t *testing.T, ours, other *sdk.Client) {
	ctx := t.Context()
	life := func(c *sdk.Client) (trace []string) {
		images, err := c.DescribeImages(ctx, &sdk.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{filter("architecture", "x86_64"), filter("virtualization-type", "hvm")}})
		if err != nil {
			t.Fatal(err)
		}
		made := mustRun(t, c, 2, func(in *sdk.RunInstancesInput) {
			in.ImageId, in.Placement = images.Images[0].ImageId, &types.Placement{AvailabilityZone: aws.String("us-east-2b")}
			spotly(in)
			in.TagSpecifications = []types.TagSpecification{{ResourceType: "instance", Tags: []types.Tag{{Key: aws.String("life"), Value: aws.String("1")}}}}
		})
		trace = append(trace, "made "+string(made[0].State.Name))
		until(t, "running", func() bool {
			return len(states(t, c, filter("tag:life", "1"), filter("instance-state-name", "running"))) == 2
		})
		out, err := c.DescribeInstances(ctx, &sdk.DescribeInstancesInput{InstanceIds: []string{*made[0].InstanceId}})
		if err != nil {
			t.Fatal(err)
		}
		i := out.Reservations[0].Instances[0]
		trace = append(trace, "zone "+*i.Placement.AvailabilityZone, "type "+string(i.InstanceType), "life "+string(i.InstanceLifecycle), "tag "+*i.Tags[0].Value)
		for what, there := range map[string]bool{"address": i.PrivateIpAddress != nil, "subnet": i.SubnetId != nil, "vpc": i.VpcId != nil, "launch time": i.LaunchTime != nil,
			"image": i.ImageId != nil, "owner": out.Reservations[0].OwnerId != nil} { // moto forgets the spot request
			if there {
				trace = append(trace, "has "+what)
			}
		}
		end, err := c.TerminateInstances(ctx, &sdk.TerminateInstancesInput{InstanceIds: []string{*made[0].InstanceId, *made[1].InstanceId}})
		if err != nil {
			t.Fatal(err)
		}
		trace = append(trace, "ending "+string(end.TerminatingInstances[0].PreviousState.Name)+" "+string(end.TerminatingInstances[0].CurrentState.Name))
		until(t, "terminated", func() bool {
			return len(states(t, c, filter("tag:life", "1"), filter("instance-state-name", "terminated"))) == 2
		})
		slices.Sort(trace)
		return trace
	}
	if a, b := life(ours), life(other); !slices.Equal(a, b) {
		t.Errorf("here: %v\nmoto: %v", a, b)
	}
}

package ec2_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"pgregory.net/rapid"

	"fsub/testbed/ec2"
)

// TestTextSurvives: what is written into a tag is signed, sent, kept, filtered by and read as it was, whatever characters it has.
func TestTextSurvives(t *testing.T) {
	c := ec2.New(ec2.Config{Latency: 1})
	defer c.Close()
	client := sdk.New(sdk.Options{BaseEndpoint: aws.String("http://ec2"), HTTPClient: c.Client(), Region: c.Region(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(c.AccessKey(), c.SecretKey(), "")})
	id := *mustRun(t, client, 1, nil)[0].InstanceId
	plain := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`)
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[a-zA-Z0-9 +\-=._:/@é日]{1,20}`).Draw(t, "key")
		value := rapid.StringMatching(`[ -~é日]{0,40}`).Draw(t, "value")
		tag := types.Tag{Key: &key, Value: &value}
		if _, err := client.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{tag}}); err != nil {
			if len(key) > 3 && (key[:4] == "aws:" || key[:4] == "AWS:") {
				t.Skip("a reserved key")
			}
			t.Fatal(err)
		}
		filters := []types.Filter{{Name: aws.String("tag:" + key), Values: []string{plain.Replace(value)}}}
		out, err := client.DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{Filters: filters})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Reservations) != 1 {
			t.Fatalf("nothing has the tag %q=%q", key, value)
		}
		for _, got := range out.Reservations[0].Instances[0].Tags {
			if *got.Key == key && *got.Value != value {
				t.Fatalf("%q=%q came back as %q", key, value, *got.Value)
			}
		}
	})
}

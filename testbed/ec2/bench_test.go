package ec2_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"

	"fsub/testbed/ec2"
)

// BenchmarkBoot is from RunInstances to the first line of the boot script of a gang of 8.
func BenchmarkBoot(b *testing.B) {
	c := ec2.New(ec2.Config{Process: true, Pending: time.Millisecond, Grace: time.Millisecond})
	defer c.Close()
	client := sdk.New(sdk.Options{BaseEndpoint: aws.String("http://ec2"), HTTPClient: c.Client(), Region: c.Region(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(c.AccessKey(), c.SecretKey(), "")})
	dir := b.TempDir()
	for n := 0; b.Loop(); n++ {
		script := fmt.Sprintf("#!/bin/sh\n: > %s/%d.$FSUB_EC2_INSTANCE\n", dir, n)
		if _, err := run(b.Context(), client, 8, func(in *sdk.RunInstancesInput) {
			in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte(script)))
		}); err != nil {
			b.Fatal(err)
		}
		for {
			if seen, _ := os.ReadDir(dir); len(seen) == 8*(n+1) {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// BenchmarkListing is DescribeInstances over all of 5,000 instances.
func BenchmarkListing(b *testing.B) {
	c := ec2.New(ec2.Config{})
	defer c.Close()
	client := sdk.New(sdk.Options{BaseEndpoint: aws.String("http://ec2"), HTTPClient: c.Client(), Region: c.Region(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(c.AccessKey(), c.SecretKey(), "")})
	if _, err := run(b.Context(), client, 5000, nil); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for pages := sdk.NewDescribeInstancesPaginator(client, &sdk.DescribeInstancesInput{}); pages.HasMorePages(); {
			if _, err := pages.NextPage(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
}

package ec2_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	prices "github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"fsub/testbed/ec2"
)

func TestCatalog(t *testing.T) {
	_, client := newCloud(t, ec2.Config{})
	ctx := t.Context()
	n := 0
	for pages := sdk.NewDescribeInstanceTypesPaginator(client, &sdk.DescribeInstanceTypesInput{MaxResults: aws.Int32(40)}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n += len(page.InstanceTypes)
	}
	if n != len(ec2.Types()) {
		t.Errorf("%d types by page, %d in the table", n, len(ec2.Types()))
	}
	p5, err := client.DescribeInstanceTypes(ctx, &sdk.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"p5.48xlarge", "trn2.48xlarge"}})
	if err != nil || len(p5.InstanceTypes) != 2 {
		t.Fatal(err, p5)
	}
	d := p5.InstanceTypes[0]
	if *d.GpuInfo.Gpus[0].Count != 8 || *d.NetworkInfo.EfaInfo.MaximumEfaInterfaces != 32 || *d.VCpuInfo.DefaultVCpus != 192 || *d.MemoryInfo.SizeInMiB != 2<<20 || p5.InstanceTypes[1].NeuronInfo == nil {
		t.Errorf("%+v", d)
	}
	_, err = client.DescribeInstanceTypes(ctx, &sdk.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m1.small"}})
	refused(t, "another type", err, "InvalidInstanceType", "m1.small")
	offerings, err := client.DescribeInstanceTypeOfferings(ctx, &sdk.DescribeInstanceTypeOfferingsInput{LocationType: types.LocationTypeAvailabilityZone, Filters: []types.Filter{filter("instance-type", "hpc7a.*", "c7i.large")}})
	if err != nil || len(offerings.InstanceTypeOfferings) != 4 {
		t.Error(err, offerings)
	}
	spots, err := client.DescribeSpotPriceHistory(ctx, &sdk.DescribeSpotPriceHistoryInput{StartTime: aws.Time(time.Now()), InstanceTypes: []types.InstanceType{"g6.xlarge"}, ProductDescriptions: []string{"Linux/UNIX"}})
	if err != nil || len(spots.SpotPriceHistory) != 3 || *spots.SpotPriceHistory[0].SpotPrice != "0.321920" {
		t.Error(err, spots)
	}
	images, err := client.DescribeImages(ctx, &sdk.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{filter("name", "al2023-ami-2023*"), filter("architecture", "arm64")}})
	if err != nil || len(images.Images) != 1 {
		t.Error(err, images)
	}
	groups, err := client.DescribeSecurityGroups(ctx, &sdk.DescribeSecurityGroupsInput{Filters: []types.Filter{filter("vpc-id", "vpc-0f5ab000000000001"), filter("group-name", "default")}})
	if err != nil || len(groups.SecurityGroups) != 1 {
		t.Error(err, groups)
	}
	_, err = client.DescribeSubnets(ctx, &sdk.DescribeSubnetsInput{Filters: []types.Filter{filter("colour", "red")}})
	refused(t, "a filter that there is not", err, "InvalidParameterValue", "colour")
}

// TestPrices asks as one must, to get one price of the many that a type has.
func TestPrices(t *testing.T) {
	c := ec2.New(ec2.Config{})
	t.Cleanup(func() { c.Close() })
	url, err := c.Start("")
	if err != nil {
		t.Fatal(err)
	}
	client := pricing.New(pricing.Options{BaseEndpoint: &url, Region: "us-east-1", RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider(c.AccessKey(), c.SecretKey(), "")})
	ask := func(fields ...string) (out []string) {
		in := &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2")}
		for i := 0; i < len(fields); i += 2 {
			in.Filters = append(in.Filters, prices.Filter{Field: &fields[i], Value: &fields[i+1], Type: prices.FilterTypeTermMatch})
		}
		for pages := pricing.NewGetProductsPaginator(client, in); pages.HasMorePages(); {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, page.PriceList...)
		}
		return out
	}
	if n := len(ask("instanceType", "g6.xlarge", "regionCode", "us-east-2")); n != 12 {
		t.Errorf("%d products of one type", n)
	}
	if n := len(ask("operatingSystem", "Linux", "tenancy", "Shared", "capacitystatus", "Used", "preInstalledSw", "NA")); n < 80 {
		t.Errorf("%d types have a price", n)
	}
	got := ask("instanceType", "g6.xlarge", "regionCode", "us-east-2", "operatingSystem", "Linux", "tenancy", "Shared", "capacitystatus", "Used")
	if len(got) != 1 {
		t.Fatalf("%d products", len(got))
	}
	var list struct {
		Product struct{ Attributes map[string]string }
		Terms   struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct {
					Unit         string
					PricePerUnit map[string]string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(got[0]), &list); err != nil {
		t.Fatal(err)
	}
	for _, term := range list.Terms.OnDemand {
		for _, d := range term.PriceDimensions {
			if d.Unit != "Hrs" || d.PricePerUnit["USD"] != "0.8048000000" {
				t.Errorf("%+v", d)
			}
		}
	}
	c.Deny("pricing:GetProducts")
	_, err = client.GetProducts(t.Context(), &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2")})
	refused(t, "without the permission", err, "AccessDeniedException", "pricing:GetProducts")
}

package aws

import (
	"fmt"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
)

func TestManyNames(t *testing.T) {
	p := &Provider{cfg: Config{Site: "aws", Federation: "test"}}
	r := gang(provider.Offering{ID: "x"}, "g", 3)
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
		if got := (nameLists{}).name(&types.Instance{AmiLaunchIndex: sdk.Int32(at)}, tags); got != r.Names[at] {
			t.Errorf("machine %d is %q", at, got)
		}
	}
	if got := (nameLists{}).name(&types.Instance{AmiLaunchIndex: sdk.Int32(400)}, tags); got != "" {
		t.Errorf("a machine beyond the gang is %q", got)
	}
	r.Names = nil
	for i := range 3000 {
		r.Names = append(r.Names, fmt.Sprintf("n%d", 3*i))
	}
	if _, err := p.gangTags(&r); providertest.KindOf(err) != provider.KindInvalid {
		t.Errorf("more names than tags hold: %v", err)
	}
}

// TestRequestHash: whatever makes a request another one is in it, and nothing that changes by itself.
func TestRequestHash(t *testing.T) {
	base := func() provider.Request { return gang(provider.Offering{ID: "x", Type: "t", Price: 1}, "g", 2) }
	r := base()
	first := r.Hash()
	for what, change := range map[string]func(*provider.Request){
		"token": func(r *provider.Request) { r.Token = "h" }, "offering": func(r *provider.Request) { r.Offering.ID = "y" }, "near": func(r *provider.Request) { r.Near = true },
		"names": func(r *provider.Request) { r.Names[1] = "z" }, "count": func(r *provider.Request) { r.Count = 3 }, "boot": func(r *provider.Request) { r.Boot.Token = "z" },
		"names run together": func(r *provider.Request) { r.Names = []string{r.Names[0] + r.Names[1]} },
	} {
		r := base()
		change(&r)
		if r.Hash() == first {
			t.Errorf("another %s is no other request", what)
		}
	}
	r.Offering.Price, r.Offering.PricedAt = 2, time.Now()
	if r.Hash() != first {
		t.Error("another price is another request")
	}
}

// TestEndedAt: Amazon tells when a machine that we end has ended.
func TestEndedAt(t *testing.T) {
	at := time.Date(2026, 11, 1, 12, 0, 5, 0, time.UTC)
	for text, want := range map[string]time.Time{"User initiated (2026-11-01 12:00:05 GMT)": at, "Server.SpotInstanceTermination": {}, "User initiated": {}, "": {}} {
		i := types.Instance{State: &types.InstanceState{Name: types.InstanceStateNameTerminated}, StateTransitionReason: &text}
		if got := (nameLists{}).instance(&i).Ended; !got.Equal(want) {
			t.Errorf("%q: %s", text, got)
		}
	}
}

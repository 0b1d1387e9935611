package aws

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
)

// notMoto are promises that moto 5.2.1 does not let anybody keep.
var notMoto = map[string]string{
	"CreateNear":              "moto answers CreatePlacementGroup with status 500",
	"Topology":                "moto answers DescribeInstanceTopology with status 500",
	"CreateAgain":             "moto repeats ClientToken and does not heed it: the second call makes more machines",
	"CreateAgainAfterRestart": "moto does not heed ClientToken",
	"CreateAgainAfterEnd":     "moto does not heed ClientToken",
	"CreateAtOnce":            "moto does not heed ClientToken",
	"CreateConflict":          "moto does not heed ClientToken",
	"WrapKeepsIt":             "moto does not heed ClientToken",
	"WithdrawMade":            "moto does not heed ClientToken",
}

// moto starts moto_server, a stand-in of others' making, where it is installed.
func moto(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("moto_server")
	if err != nil {
		t.Skip("SKIPPED: moto_server is not installed: the second stand-in is not asked")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "-H", "127.0.0.1", "-p", fmt.Sprint(port))
	others := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") }) // an empty AWS_PROFILE is no profile to botocore
	cmd.Env = append(others, "MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION=true", "MOTO_ENABLE_AMI_VALIDATION=true")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); cmd.Wait() })
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if resp, err := http.Get(url + "/moto-api/data.json"); err == nil {
			resp.Body.Close()
			return url
		}
		if time.Now().After(end) {
			t.Fatalf("moto_server does not answer: %s", out.String())
		}
	}
}

// TestMoto holds the provider to its promises against moto, which knows 1,263 real types and the zones of 30 regions.
func TestMoto(t *testing.T) {
	url := moto(t)
	file := credentials(t, "AKIAIOSFODNN7EXAMPLE", "secret")
	cfg := Config{
		Site: "aws", Federation: "test", Region: Region{Name: "us-east-1"}, Endpoint: url, CredentialsFile: file, Logger: quiet,
		Types:  []string{"c7i.large", "p5.48xlarge"},
		Images: map[string]string{"x86_64": "amazon/amzn2-ami-hvm-*"},
	}
	reset := func(t *testing.T) {
		resp, err := http.Post(url+"/moto-api/reset", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		reset(t)
		stranger := cfg
		stranger.Site = "other"
		return providertest.Harness{
			Provider: open(t, cfg), Site: "aws", Offering: "c7i.large/us-east-1a/on-demand", Except: notMoto,
			Again:    func(t *testing.T) provider.Provider { return open(t, cfg) },
			Stranger: func(t *testing.T) provider.Provider { return open(t, stranger) },
		}
	})
	t.Run("SpotPricesThatCannotBe", func(t *testing.T) {
		reset(t)
		var warned strings.Builder
		cfg := cfg
		cfg.Logger = slog.New(slog.NewTextHandler(&warned, nil))
		all, err := open(t, cfg).Offerings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(warned.String(), `why="dated 2006-`) {
			t.Errorf("no warning says why: %s", warned.String())
		}
		spots := 0
		for _, o := range all {
			if o.Market != provider.Spot {
				continue
			}
			spots++
			if o.Price < 0.01 || !strings.Contains(o.PriceFrom, "table of 2026") {
				t.Errorf("%s costs %v from %q", o.ID, o.Price, o.PriceFrom)
			}
			if strings.HasPrefix(o.ID, "p5") && (o.GPUs != 8 || o.GPUType != "h100" || o.Price < 5 || o.Price > 60) {
				t.Errorf("%+v", o)
			}
		}
		if spots < 4 {
			t.Errorf("%d spot offerings", spots)
		}
	})
	t.Run("Fleet", func(t *testing.T) {
		reset(t)
		any := cfg
		any.AnyZone = true
		p := open(t, any)
		made, err := p.Create(t.Context(), gang(providertest.Offer(t, p, "c7i.large/us-east-1/spot"), "fleet", 3))
		if err != nil || len(made) != 3 {
			t.Fatalf("%v, %v", made, err)
		}
		listed, err := p.List(t.Context())
		if err != nil || len(listed) != 3 {
			t.Fatalf("%v, %v", listed, err)
		}
		for _, m := range listed {
			if m.Token != "fleet" || !strings.HasPrefix(m.Name, "aws-pool-") {
				t.Errorf("%+v", m)
			}
		}
		if err := p.Delete(t.Context(), idsOf(made)); err != nil {
			t.Fatal(err)
		}
	})
}

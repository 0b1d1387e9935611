package aws

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/testbed/ec2"
)

// world is a stand-in for EC2 that runs until the test ends.
func world(t *testing.T, cfg ec2.Config) (*ec2.Cloud, string) {
	t.Helper()
	if cfg.Types == nil {
		cfg.Types = ec2.TypesNamed("c7i.large", "c7g.large", "g6.xlarge", "p5.48xlarge", "c7i.48xlarge")
	}
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
	return c, url
}

// TestMain hides the environment's own credentials and settings from all tests.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CA_BUNDLE": "",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "",
	} {
		os.Setenv(name, value)
	}
	os.Exit(m.Run())
}

// credentials writes a shared file with credentials and returns its path.
func credentials(t *testing.T, key, secret string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "credentials")
	text := "[default]\naws_access_key_id = " + key + "\naws_secret_access_key = " + secret + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// standIn is a configuration for a stand-in.
func standIn(c *ec2.Cloud, url, file string) Config {
	return Config{
		Site: "aws", Federation: "test", Region: Region{Name: c.Region()}, Endpoint: url, CredentialsFile: file,
		Types: []string{"c7i.large"},
	}
}

func open(t *testing.T, cfg Config) *Provider {
	t.Helper()
	p, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestConformance holds EC2 to what every provider keeps, in each of the ways in which machines are asked for.
func TestConformance(t *testing.T) {
	for name, how := range map[string]struct {
		offering string
		change   func(*Config)
		world    ec2.Config
	}{
		"OnDemand": {offering: "c7i.large/us-east-2a/on-demand"},
		"Lag":      {offering: "c7i.large/us-east-2a/on-demand", world: ec2.Config{Lag: 200 * time.Millisecond}},
		"Spot":     {offering: "c7i.large/us-east-2b/spot"},
		"AnyZone":  {offering: "c7i.large/us-east-2/on-demand", change: func(c *Config) { c.AnyZone = true }},
		"AnySpot":  {offering: "c7i.large/us-east-2/spot", change: func(c *Config) { c.AnyZone = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			providertest.Run(t, func(t *testing.T) providertest.Harness {
				c, url := world(t, how.world)
				cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
				if how.change != nil {
					how.change(&cfg)
				}
				stranger := cfg
				stranger.Site = "other"
				return providertest.Harness{
					Provider: open(t, cfg), Site: "aws", Offering: how.offering,
					Again:    func(t *testing.T) provider.Provider { return open(t, cfg) },
					Stranger: func(t *testing.T) provider.Provider { return open(t, stranger) },
					Break:    func(t *testing.T, f providertest.Fault, o provider.Offering) (func(), error) { return breakIt(c, f, o) },
				}
			})
		})
	}
}

func breakIt(c *ec2.Cloud, f providertest.Fault, o provider.Offering) (func(), error) {
	switch f {
	case providertest.StockOut:
		c.SetStock(ec2.Pool{Type: o.Type}, 0)
	case providertest.Quota:
		c.SetQuota(string(o.Market), o.CPUs-1)
	case providertest.Denied:
		c.Deny("")
	case providertest.Throttled:
		c.Inject(ec2.Fault{Kind: ec2.Refuse, Code: "RequestLimitExceeded"})
	case providertest.Unavailable:
		c.Inject(ec2.Fault{Kind: ec2.LoseRequest})
	case providertest.LostReply:
		c.Inject(ec2.Fault{Action: "RunInstances", Kind: ec2.LoseReply, Times: 1})
		c.Inject(ec2.Fault{Action: "CreateFleet", Kind: ec2.LoseReply, Times: 1})
	default:
		return nil, errors.New("not known")
	}
	return c.ClearFaults, nil
}

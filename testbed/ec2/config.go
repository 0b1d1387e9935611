package ec2

import (
	"log/slog"
	"strings"
	"time"

	"fsub/testbed/machines"
)

// Config says what cloud to make. The zero value is a good one.
type Config struct {
	Region string   // "us-east-2"
	Zones  []string // "us-east-2a" and so on; three of them
	// AccessKey and SecretKey are the only credentials that are good. Made up where empty: ask the Cloud for them.
	AccessKey, SecretKey string
	Types                []*Type  // what can be rented; [Types] where nil
	Images               []Image  // one for each architecture where nil
	Profiles             []string // names of the instance profiles that exist
	Subnets              []Subnet // one in each zone, with a way out, where nil
	SelfEgress           bool     // the security group lets traffic out to itself, beside that to anywhere

	// Process makes running instances run their user data, which takes root. Else they are only states.
	Process bool
	// Dir holds the instances' directories; a new one, removed by Close, where empty.
	Dir string

	Pending time.Duration // from RunInstances to running; 20 ms
	Ending  time.Duration // from shutting-down to terminated, at least; 20 ms
	Grace   time.Duration // from SIGTERM to SIGKILL of an instance that is ended; 2 s
	Gone    time.Duration // how long the terminated are shown; 1 min (an hour at Amazon)
	Lag     time.Duration // how old what Describe* shows of instances is; 0
	Lead    time.Duration // from a spot notice to the end; 2 s (2 min at Amazon)

	// Latency is the least time that an answer takes; 5 ms. An answer that comes at once is lost now and then: smithy-go (1.28.8) closes the request's body when
	// it has the answer's header, and net/http takes what a closed body's WriteTo returns for a failure to write, and closes the connection.
	Latency time.Duration

	Log *slog.Logger
}

// Image is a machine image.
type Image struct {
	ID, Name, Arch string
	GiB            int // of its snapshot; 0: 8
}

// Subnet is one of the VPC.
type Subnet struct {
	ID, Zone  string
	Route     string // target of its default route: "igw-1", "nat-1"; "": it has none
	NoAddress bool   // machines get no public address there
}

func (cfg *Config) defaults() {
	str(&cfg.Region, "us-east-2")
	if cfg.Zones == nil {
		cfg.Zones = []string{cfg.Region + "a", cfg.Region + "b", cfg.Region + "c"}
	}
	if cfg.Subnets == nil {
		for _, z := range cfg.Zones {
			cfg.Subnets = append(cfg.Subnets, Subnet{ID: "subnet-0f5ab0000000000" + "0" + z[len(z)-1:], Zone: z, Route: gatewayID}) // a letter from a to f is a digit as well
		}
	}
	str(&cfg.AccessKey, "AKIA"+strings.ToUpper(machines.RandomHex(16)))
	str(&cfg.SecretKey, machines.RandomHex(40))
	if cfg.Types == nil {
		cfg.Types = Types()
	}
	if cfg.Images == nil {
		cfg.Images = []Image{
			{ID: "ami-0a1b2c3d4e5f60001", Name: "al2023-ami-2023.9.20261101.0-kernel-6.12-x86_64", Arch: "x86_64"},
			{ID: "ami-0a1b2c3d4e5f60002", Name: "al2023-ami-2023.9.20261101.0-kernel-6.12-arm64", Arch: "arm64"},
		}
	}
	dur(&cfg.Pending, 20*time.Millisecond)
	dur(&cfg.Ending, 20*time.Millisecond)
	dur(&cfg.Grace, 2*time.Second)
	dur(&cfg.Gone, time.Minute)
	dur(&cfg.Lead, 2*time.Second)
	dur(&cfg.Latency, 5*time.Millisecond)
}

func str(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

func dur(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

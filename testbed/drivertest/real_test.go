package drivertest_test

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm"
	"fsub/testbed/bed"
	"fsub/testbed/drivertest"
	"fsub/testbed/proxy"
	"fsub/testbed/suite"
)

// TestRealSlurm runs the suite on real Slurm: alpha is 24.11, gamma is 26.05, delta 22.05.
func TestRealSlurm(t *testing.T) {
	b, names := realBed(t)
	for _, n := range names {
		t.Run(n, func(t *testing.T) {
			t.Parallel()
			drivertest.Run(t, realHarness(t, b, n))
		})
	}
}

// TestMappedSlurm runs the suite where the site's numbers are its own: with a token of SlurmUser, with one of the user's, and with one of each user's, by a command. Of all sites
// that is the only way for delta to be used, so that TestRealSlurm has done the first there.
func TestMappedSlurm(t *testing.T) {
	b, names := realBed(t)
	for _, n := range names {
		t.Run(n, func(t *testing.T) {
			t.Parallel()
			if n != "delta" {
				t.Run("SlurmUser", func(t *testing.T) {
					drivertest.Run(t, harness(t, b, n, func(c *slurm.Config) { c.Mode = federation.Mapped }))
				})
			}
			t.Run("alice", func(t *testing.T) {
				h := harness(t, b, n, func(c *slurm.Config) { c.User = "alice" })
				h.ForgetsAfter = 0 // a minute or two, and who asks makes no difference to it
				drivertest.Run(t, h)
			})
			t.Run("each user", func(t *testing.T) {
				if os.Getenv("FSUB_FULL") == "" {
					t.Skip("SKIPPED: takes two minutes more, and TestOwnTokens of testbed/rights asks for the main things: with FSUB_FULL=1")
				}
				info, err := b.Site(n)
				if err != nil {
					t.Fatal(err)
				}
				h := harness(t, b, n, func(c *slurm.Config) {
					if c.KeyFile == info.KeyFile { // else it is a wrong one
						c.KeyFile, c.User = "", "bob"
						c.TokenCommand = append(commandIn(b, n, "scontrol"), "token", "username=%u", "lifespan=600")
					}
				})
				h.ForgetsAfter = 0
				drivertest.Run(t, h)
			})
		})
	}
}

// world is the bed of all tests of this package, where controllers may be killed and forget ended jobs soon, unless FSUB_DRIVERTEST_BED
// names one that is up with these sites: there nothing is killed.
var world suite.Suite

var sites = []string{"alpha", "gamma", "delta"}

func realBed(t *testing.T) (*bed.Bed, []string) {
	t.Helper()
	world.Need(t)
	return world.Bed, sites
}

// commandAt has this program run one of Slurm's commands in a site of a bed, as root: DIRECTORY:SITE:COMMAND.
const commandAt = "FSUB_DRIVERTEST_COMMAND"

// commandIn is the start of a command line that does so.
func commandIn(b *bed.Bed, site, command string) []string {
	return []string{"/usr/bin/env", commandAt + "=" + b.Dir() + ":" + site + ":" + command, os.Args[0]}
}

func run(at string) int {
	dir, at, _ := strings.Cut(at, ":")
	site, command, _ := strings.Cut(at, ":")
	b, err := bed.New(bed.Options{Dir: dir})
	if err == nil {
		err = b.Exec(context.Background(), bed.Cmd{Site: site, Args: append([]string{command}, os.Args[1:]...), Stdout: os.Stdout, Stderr: os.Stderr})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestMain(m *testing.M) {
	if at := os.Getenv(commandAt); at != "" {
		os.Exit(run(at))
	}
	flag.Parse()
	// Nearly all of their time these tests wait for Slurm: more of them than there are CPUs do no harm.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	world.Main(m, suite.Config{Name: "drivertest", Sites: sites, Bed: bed.Options{MinJobAge: 30 * time.Second}, Lends: true})
}

// nextID gives every job of this process a number of its own, at all sites (they share the home directories), and not one of earlier
// runs on the same bed.
var nextID = func() *atomic.Uint32 {
	n := new(atomic.Uint32)
	n.Store(uint32(federation.FirstJobID) + uint32(time.Now().Unix()%180_000)*200)
	return n
}()

// realHarness is a site of the bed, seen as a harness.
func realHarness(t *testing.T, b *bed.Bed, name string) drivertest.Harness {
	return harness(t, b, name, func(*slurm.Config) {})
}

func harness(t *testing.T, b *bed.Bed, name string, change func(*slurm.Config)) drivertest.Harness {
	info, err := b.Site(name)
	if err != nil {
		t.Fatal(err)
	}
	var site bed.Site
	for _, s := range bed.Sites {
		if s.Name == name {
			site = s
		}
	}
	openFor := func(url, key string, timeout time.Duration) *slurm.Driver {
		c := slurm.Config{Name: federation.SiteName(name), Federation: "drivertest", URL: url, KeyFile: key,
			Timeout: timeout, RPS: 1000, Burst: 1000, DefaultPartition: "main", UseCommand: commandIn(b, name, "sstat")}
		if name == "delta" { // 22.05
			c.NodeCommand = commandIn(b, name, "scontrol")
		}
		if name != "gamma" { // before 25.05
			c.ReservationCommand = commandIn(b, name, "scontrol")
		}
		change(&c)
		d, err := slurm.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	open := func(url, key string) *slurm.Driver { return openFor(url, key, 2*time.Minute) }
	lossy, err := proxy.New(info.RestURL, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lossy.Close)
	wrong := filepath.Join(t.TempDir(), "wrong.key")
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	if err := os.WriteFile(wrong, key, 0o600); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	h := drivertest.Harness{
		Driver: open(info.RestURL, info.KeyFile), Federation: "drivertest",
		NextID: func() federation.JobID { return federation.JobID(nextID.Add(1)) },
		User:   federation.SiteUser{Name: "alice", UID: 7001, GID: 7001}, Account: "physics",
		Other: federation.SiteUser{Name: "bob", UID: 7002, GID: 7002}, OtherAccount: "vision",
		Partition: "main", GPUType: site.GPUType, Nodes: site.Nodes,
		Patience: 3 * time.Minute, Settle: 30 * time.Second, Parallel: true, MeasuresUse: true,
		Dir: b.Home("alice"), ReadFile: os.ReadFile,
		LoseReply: func() { lossy.Next(proxy.LoseReply) }, Lossy: open(lossy.URL(), info.KeyFile),
		ForgetsAfter:   3 * time.Minute, // slurmctld looks for old jobs every one or two minutes
		Stranger:       open(info.RestURL, wrong),
		Hasty:          openFor(info.RestURL, info.KeyFile, 4*time.Second),
		KillController: func() { must(b.KillService(name, "slurmctld")) },
		StartController: func() {
			must(b.StartService(context.Background(), name, "slurmctld"))
			d := open(info.RestURL, info.KeyFile)
			for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
				if d.Ping(context.Background()) == nil {
					return
				}
			}
			t.Fatal("slurmctld does not come back")
		},
	}
	if world.Lent {
		h.KillController, h.StartController, h.ForgetsAfter = nil, nil, 0
	}
	return h
}

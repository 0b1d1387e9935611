package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

var (
	world suite.Suite
	sites = []string{"alpha", "gamma"} // 24.11, 26.05
)

func init() {
	if full() {
		sites = append(sites, "delta") // 22.05
	}
}

// conf: usage does not decay, so that what is the same in two places is the same to the last bit, and ranks are new every minute.
var conf = []string{"PriorityDecayHalfLife=0", "PriorityUsageResetPeriod=YEARLY", "PriorityCalcPeriod=1"}

func TestMain(m *testing.M) {
	if at := os.Getenv(sacctmgrAt); at != "" {
		os.Exit(burn(os.Args[1:], func() int { return sacctmgr(at, os.Args[1:]) }))
	}
	world.Main(m, suite.Config{Name: "tree", Sites: sites, Lends: true, Bed: bed.Options{MinJobAge: 10 * time.Second, Conf: conf},
		Start: func(context.Context) error { return world.Programs("fsub", "fed") }})
}

func full() bool { return os.Getenv("FSUB_FULL") != "" }

const patience = 2 * time.Minute

// place is one site in a test.
type place struct {
	testing.TB
	site string
}

// eachSite does something at all sites at once.
func eachSite(t *testing.T, do func(p *place)) {
	for _, site := range sites {
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			do(&place{t, site})
		})
	}
}

// as runs a command at the site; user "" is root.
func (p *place) as(user string, args ...string) string {
	p.Helper()
	out, err := world.Bed.Output(context.Background(), p.site, user, args...)
	if err != nil {
		p.Fatalf("%s: %v: %v\n%s", p.site, args, err, out)
	}
	return strings.TrimSpace(out)
}

func (p *place) eventually(what string, done func() string) {
	p.Helper()
	last := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if last = done(); last == "" {
			return
		}
	}
	p.Fatalf("%s: %s did not come true in %v: %s", p.site, what, patience, last)
}

// write writes a file at the site.
func (p *place) write(path, text string) {
	p.Helper()
	err := world.Bed.Exec(context.Background(), bed.Cmd{Site: p.site, Args: []string{"sh", "-c", "cat > " + path}, Stdin: strings.NewReader(text)})
	if err != nil {
		p.Fatal(err)
	}
}

// sacctmgrAt has this program run sacctmgr in a site of a bed: DIRECTORY:SITE.
const sacctmgrAt = "FSUB_TREE_SACCTMGR"

func sacctmgr(at string, args []string) int {
	dir, site, _ := strings.Cut(at, ":")
	b, err := bed.Open(dir)
	if err == nil {
		err = b.Exec(context.Background(), bed.Cmd{Site: site, Args: append([]string{"sacctmgr"}, args...), Stdout: os.Stdout, Stderr: os.Stderr})
	}
	if err == nil {
		return 0
	}
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, err)
	return 255
}

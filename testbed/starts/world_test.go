package starts

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/hostlist"
	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

var world suite.Suite

var siteNames = []string{"alpha", "beta"}

const nodesOfSite = 8

func full() bool { return os.Getenv("FSUB_FULL") != "" }

func TestMain(m *testing.M) {
	bed.Sites = []bed.Site{
		{Name: "alpha", Index: 1, Suite: "trixie", Auth: bed.AuthSlurm, Nodes: nodesOfSite, CPUs: 4, MemMiB: 8000, GPUs: 1, GPUType: "a100", LeafNodes: 3},
		{Name: "beta", Index: 2, Suite: "forky", Auth: bed.AuthSlurm, Nodes: nodesOfSite, CPUs: 4, MemMiB: 8000, GPUs: 1, GPUType: "a100", LeafNodes: 3},
	}
	world.Main(m, suite.Config{Name: "starts", Sites: siteNames, Start: start})
}

func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed"); err != nil {
		return err
	}
	err := world.StartDaemon(ctx, func(config map[string]any) {
		for _, s := range config["sites"].([]any) {
			s.(map[string]any)["prices"] = map[string]float64{"node": 60} // a dollar a minute
		}
	})
	if err != nil {
		return err
	}
	return world.Daemon.AwaitSites(ctx)
}

// at runs a command of ours in the login as a user; "" is root.
func at(user string, args ...string) (string, error) {
	var out strings.Builder
	err := world.Bed.Exec(context.Background(), bed.Cmd{Site: bed.Login, User: user, Args: args, Stdout: &out, Stderr: &out,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}})
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out.String())
	}
	return out.String(), err
}

func submit(t *testing.T, args []string) federation.JobID {
	t.Helper()
	out, err := at("alice", append([]string{"fsub", "--parsable"}, args...)...)
	first, _, _ := strings.Cut(strings.TrimSpace(out), ";")
	id, bad := strconv.ParseUint(first, 10, 32)
	if err != nil || bad != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return federation.JobID(id)
}

// accounts are one that has no budget but now and then, and one that may run a single job.
func accounts(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"physics"}, {"physics", "--user", "alice"}, {"poor", "Budget=0.01/month"}, {"poor", "--user", "alice"}, {"narrow", "GrpJobs=1"}, {"narrow", "--user", "alice"}} {
		if _, err := at("", append([]string{"fed", "account", "add"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
}

// occupied is what a site's accounting says of its nodes, and when jobs have started there and ended.
func occupied(t *testing.T, name string, from time.Time) (s Site, runs map[federation.JobID]span) {
	t.Helper()
	rows, err := world.Bed.Output(t.Context(), name, "", "sacct", "-a", "-n", "-P", "-X", "-D", "-S", from.Format("2006-01-02T15:04:05"), "-E", "now+1day", "-o", "JobIDRaw,Start,End,NodeList")
	if err != nil {
		t.Fatal(err)
	}
	s.Nodes, runs = nodesOfSite, map[federation.JobID]span{}
	for line := range strings.Lines(rows) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 4 {
			continue
		}
		id, _ := strconv.ParseUint(f[0], 10, 32)
		begun, ended := stamp(f[1]), stamp(f[2])
		if begun.IsZero() || f[3] == "None assigned" {
			continue
		}
		if ended.IsZero() {
			ended = time.Now()
		}
		if old, twice := runs[federation.JobID(id)]; !twice || begun.Before(old.from) {
			runs[federation.JobID(id)] = span{begun, ended}
		}
		for _, node := range nodesIn(t, f[3]) {
			s.Held = append(s.Held, Held{node, begun, ended})
		}
	}
	return s, runs
}

func nodesIn(t *testing.T, list string) []string {
	t.Helper()
	names, err := hostlist.Expand(list)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// stamp is a time as Slurm's commands write it; zero: none.
func stamp(text string) time.Time {
	at, _ := time.ParseInLocation("2006-01-02T15:04:05", text, time.Local)
	return at
}

package tree

import (
	"os"
	"strings"
	"testing"
)

// limitOf is GrpJobs of an account at the site.
func (p *place) limitOf(account string) string {
	p.Helper()
	return p.as("", "sacctmgr", "-nP", "show", "association", "where", "cluster="+p.site, "account="+account, "user=", "format=grpjobs")
}

// The account of a used budget is closed at each site, by sacctmgr and by slurmrestd, whenever the daemon is killed: what runs goes on, what is submitted there waits. With money it gets back
// what it had.
func TestUsedBudgetClosesAccounts(t *testing.T) {
	world.Need(t)
	startDaemonWhere(t, func(site string) bool { return site != "gamma" })
	alpha, gamma := &place{t, "alpha"}, &place{t, "gamma"}
	both := []*place{alpha, gamma}
	alpha.as("", "sacctmgr", "-i", "modify", "account", "where", "name=physics", "cluster=alpha", "set", "grpjobs=50")
	t.Cleanup(func() {
		for _, p := range both {
			p.as("", "scancel", "-u", "alice")
			world.Bed.Output(t.Context(), p.site, "", "sacctmgr", "-i", "modify", "account", "where", "name=physics", "cluster="+p.site, "set", "grpjobs=-1")
		}
	})
	must(t, "account", "import", "alpha")
	submit := func(p *place, state string) string {
		t.Helper()
		id := p.as("alice", "sbatch", "--parsable", "-A", "physics", "-n1", "--mem=10", "-t10", "--wrap", "sleep 600")
		p.eventually("job "+id+" "+state, func() string { return differs(p.as("", "squeue", "-h", "-j", id, "-o", "%T %r"), state) })
		return id
	}
	limits := func(when, atAlpha, atGamma string) {
		t.Helper()
		for p, want := range map[*place]string{alpha: atAlpha, gamma: atGamma} {
			p.eventually("GrpJobs "+want+" "+when, func() string { return differs(p.limitOf("physics"), want) })
		}
	}
	// killed has the daemon killed before (1) or after (2) its next command at alpha.
	killed := func(n string, args ...string) {
		t.Helper()
		os.WriteFile(fuse(), []byte(n), 0o644)
		defer os.Remove(fuse())
		must(t, args...)
		alpha.eventually("the end of the daemon", func() string {
			text, err := os.ReadFile(fuse())
			if err != nil {
				return err.Error()
			}
			return differs(string(text), "0")
		})
		world.Daemon.Kill()
		os.Remove(fuse())
		if err := world.Daemon.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := world.Daemon.AwaitSites(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	runs := []string{submit(alpha, "RUNNING None"), submit(gamma, "RUNNING None")}
	killed("2", "account", "modify", "physics", "Budget=0/month", "BudgetClose=all")
	limits("when the budget is used up", "0", "0")
	waits := []string{submit(alpha, "PENDING AssocGrpJobsLimit"), submit(gamma, "PENDING AssocGrpJobsLimit")}
	alpha.eventually("a word in the report", func() string {
		if out := must(t, "report", "budget"); strings.Count(out, "account physics is closed at ") != 2 {
			return out
		}
		return ""
	})
	killed("1", "account", "modify", "physics", "Budget=1000/month")
	limits("when there is money", "50", "")
	for i, p := range both {
		p.eventually("the start of what waited", func() string {
			return differs(p.as("", "squeue", "-h", "-j", runs[i]+","+waits[i], "-o", "%T"), "RUNNING\nRUNNING")
		})
	}
}

// differs says what is there if it is not what is wanted.
func differs(have, want string) string {
	if have == want {
		return ""
	}
	return "have " + have + ", want " + want
}

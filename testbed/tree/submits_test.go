package tree

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fsub/testbed/bed"
)

var submissionID = regexp.MustCompile(`Submitted batch job \d+`)

// said runs sbatch or fsub as alice, and returns what she is told, without what fsub adds to Slurm's words.
func said(site string, args ...string) string {
	var out strings.Builder
	cmd := bed.Cmd{Site: site, User: "alice", Args: args, Stdout: &out, Stderr: &out}
	if site == bed.Login {
		cmd.Env = []string{"FSUB_SOCKET=" + world.Daemon.Socket(), "PATH=/usr/bin:/bin"}
		cmd.Args = append([]string{filepath.Join(world.Bin, args[0])}, args[1:]...)
	}
	world.Bed.Exec(context.Background(), cmd)
	text, refused, is := strings.Cut(strings.TrimSpace(out.String()), "Batch job submission failed: ")
	if is {
		refused, _, _ = strings.Cut(refused, "\n")
	}
	return submissionID.ReplaceAllString(text, "Submitted") + refused
}

// Limits of how many jobs may be submitted are kept as slurmctld keeps them, in its words.
func TestSubmitLimitsAsSlurm(t *testing.T) {
	world.Need(t)
	account, user, qos := "submits", "alice", "submits"
	var at []*place
	for _, site := range sites {
		p := &place{t, site}
		at = append(at, p)
		mgr := func(words ...string) { p.as("", append([]string{"sacctmgr", "-i"}, words...)...) }
		t.Cleanup(func() {
			p.as("", "scancel", "-u", user)
			p.eventually("no jobs", func() string { return p.as("", "squeue", "-h", "-u", user) })
			mgr("delete", "user", user, "where", "account="+account)
			mgr("delete", "account", account)
			mgr("delete", "qos", qos)
		})
		mgr("add", "account", account)
		mgr("add", "qos", qos)
		mgr("add", "user", user, "account="+account)
		mgr("modify", "user", user, "where", "account="+account, "set", "qos+="+qos)
	}
	startDaemon(t)
	must(t, "account", "add", account)
	must(t, "qos", "add", qos)
	must(t, "account", "add", account, "--user", user, "QOS="+qos)
	one, inQOS := []string{}, []string{"--qos=" + qos}
	for _, c := range []struct {
		name               string
		account, user, qos string
		submit             [][]string
	}{
		{"an account's", "GrpSubmitJobs=3", "", "", [][]string{one, {"--array=1-2"}, one}},
		{"a user's, from his account", "MaxSubmitJobs=2", "", "", [][]string{one, one, one, inQOS}},
		{"a user's own", "MaxSubmitJobs=2", "MaxSubmitJobs=4", "", [][]string{{"--array=1-5"}, {"--array=1-4%1"}, one}},
		{"nobody may", "", "MaxSubmitJobs=0", "", [][]string{one, inQOS}},
		{"a QOS's", "", "", "GrpSubmitJobs=2", [][]string{inQOS, inQOS, inQOS, one}},
		{"a user's in a QOS", "MaxSubmitJobs=1", "", "MaxSubmitJobsPerUser=2", [][]string{inQOS, inQOS, inQOS, one}},
		{"an account's in a QOS", "", "", "MaxSubmitJobsPerAccount=2", [][]string{inQOS, append([]string{"--array=0-1"}, inQOS...), inQOS, inQOS}},
		{"those of a QOS before those of an account", "GrpSubmitJobs=1 MaxSubmitJobs=1", "", "GrpSubmitJobs=2 MaxSubmitJobsPerUser=1", [][]string{inQOS, inQOS}},
		{"a user's before his account's", "GrpSubmitJobs=1 MaxSubmitJobs=1", "", "", [][]string{one, one}},
	} {
		set := func(words string, do func(...string)) {
			all := map[string]string{"GrpSubmitJobs": "-1", "MaxSubmitJobs": "-1", "MaxSubmitJobsPerUser": "-1", "MaxSubmitJobsPerAccount": "-1"}
			for _, w := range strings.Fields(words) {
				name, n, _ := strings.Cut(w, "=")
				all[name] = n
			}
			for name, n := range all {
				do(name, n)
			}
		}
		options := map[string][]string{"account": {"GrpSubmitJobs", "MaxSubmitJobs"}, "user": {"MaxSubmitJobs"}, "qos": {"GrpSubmitJobs", "MaxSubmitJobsPerUser", "MaxSubmitJobsPerAccount"}}
		limits := func(kind, words string) (out []string) {
			set(words, func(w ...string) {
				for _, o := range options[kind] {
					if o == w[0] {
						out = append(out, w[0]+"="+w[1])
					}
				}
			})
			return out
		}
		must(t, append([]string{"account", "modify", account}, limits("account", c.account)...)...)
		must(t, append([]string{"account", "modify", account, "--user", user}, limits("user", c.user)...)...)
		must(t, append([]string{"qos", "modify", qos}, limits("qos", c.qos)...)...)
		var mine []string
		for _, args := range c.submit {
			mine = append(mine, said(bed.Login, append(append([]string{"fsub", "-H", "-o/dev/null", "-D/tmp", "-t1", "-A", account}, args...), "--wrap", "true")...))
		}
		ours(t, "alice", "scancel", "-u", user)
		for _, p := range at {
			mgr := func(kind string, words []string, where ...string) {
				p.as("", append(append(append([]string{"sacctmgr", "-i", "modify", kind, "where"}, where...), "set"), words...)...)
			}
			// Of a user first: what is set for an account goes to all its users who have nothing else.
			mgr("user", limits("user", c.user), "name="+user, "account="+account)
			mgr("account", limits("account", c.account), "name="+account)
			mgr("qos", limits("qos", c.qos), "name="+qos)
			// slurmdbd tells slurmctld of a limit after it has answered: on a busy machine the first jobs come before.
			var its []string
			for try := 0; try < 10 && !slices.Equal(its, mine); try++ {
				its = nil
				for _, args := range c.submit {
					its = append(its, said(p.site, append(append([]string{"sbatch", "-H", "-o/dev/null", "-D/tmp", "-t1", "-A", account}, args...), "--wrap", "true")...))
				}
				p.as("", "scancel", "-u", user)
				p.eventually("no jobs", func() string { return p.as("", "squeue", "-h", "-u", user) })
			}
			if !slices.Equal(its, mine) {
				t.Errorf("%s limit: at %s\n%s\n\nby the federation\n%s", c.name, p.site, strings.Join(its, "\n"), strings.Join(mine, "\n"))
			}
		}
	}
}

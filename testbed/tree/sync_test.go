package tree

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/testbed/bed"
)

// startDaemon runs the daemon over all sites, with a sacctmgr for each.
func startDaemon(t *testing.T) { t.Helper(); startDaemonBy(t, true) }

func startDaemonBy(t *testing.T, command bool) {
	t.Helper()
	startDaemonWhere(t, func(string) bool { return command })
}

// startDaemonWhere has it use slurmrestd at the other sites.
func startDaemonWhere(t *testing.T, command func(site string) bool) {
	t.Helper()
	err := world.StartDaemon(t.Context(), func(config map[string]any) {
		os.RemoveAll(config["state_dir"].(string))
		for _, s := range config["sites"].([]any) {
			site := s.(map[string]any)
			if !command(fmt.Sprint(site["name"])) {
				continue
			}
			site["account_command"] = []string{"/usr/bin/env", fmt.Sprintf("%s=%s:%v", sacctmgrAt, world.Bed.Dir(), site["name"]), killAfter + "=" + fuse(), os.Args[0]}
		}
	})
	if err == nil {
		t.Cleanup(world.Daemon.Stop)
		err = world.Daemon.AwaitSites(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// killAfter names a file with a number: when so many commands have been given, the daemon that has given them is killed, before or after the last one.
const killAfter = "FSUB_TREE_KILL_AFTER"

func fuse() string { return filepath.Join(world.Dir, "fuse") }

// burn is one command nearer to the end of the daemon.
func burn(args []string, do func() int) int {
	text, err := os.ReadFile(os.Getenv(killAfter))
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || n == 0 || !slices.Contains(args, "-i") {
		return do()
	}
	kill := func() { syscall.Kill(os.Getppid(), syscall.SIGKILL) }
	switch os.WriteFile(os.Getenv(killAfter), []byte(strconv.Itoa(n-1)), 0o644); n {
	case 1:
		kill()
		return 255
	case 2:
		os.WriteFile(os.Getenv(killAfter), []byte("0"), 0o644)
		defer kill()
	}
	return do()
}

// fed runs an operator's command and returns what it has printed.
func fed(t testing.TB, args ...string) (string, error) {
	t.Helper()
	return fedAs(t, "", args...)
}

func fedAs(t testing.TB, user string, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := world.Bed.Exec(context.Background(), bed.Cmd{Site: bed.Login, User: user, Args: append([]string{filepath.Join(world.Bin, "fed")}, args...),
		Env: []string{"FSUB_SOCKET=" + world.Daemon.Socket(), "PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out})
	return out.String(), err
}

// must runs a command that succeeds.
func must(t testing.TB, args ...string) string {
	t.Helper()
	out, err := fed(t, args...)
	if err != nil {
		t.Fatalf("fed %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// accounting is all that the site's sacctmgr tells of accounts, users and QOS, without the numbers that differ.
func (p *place) accounting(without ...string) string {
	p.Helper()
	var out []string
	for _, words := range [][]string{
		{"account", "withcoord", "format=account,descr,org,coord"},
		{"user", "format=user,defaultaccount"},
		{"qos", "format=name,priority,usagefactor,preempt,gracetime,flags,grpjobs,grptres,maxwall,maxtrespu,maxjobspu"},
		{"association", "where", "cluster=" + p.site, "WOPLimits", "format=account,user,partition,parentname,fairshare,grpjobs,grptres,grptresmins,maxjobs,maxwall,qos,defaultqos"},
	} {
		for line := range strings.Lines(p.as("", append([]string{"sacctmgr", "-nP", "show"}, words...)...)) {
			line = words[0] + ": " + strings.TrimSpace(line)
			if !slices.ContainsFunc(without, func(w string) bool { return strings.Contains(line, w) }) {
				out = append(out, line)
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// like has a site's accounting be that of the first one.
func (p *place) like(first *place, when string, without ...string) {
	p.Helper()
	if a, b := first.accounting(without...), p.accounting(without...); a != b {
		p.Errorf("%s: %s and %s differ:\n%s\n\n%s", when, first.site, p.site, a, b)
	}
}

// One site's accounts are brought into the tree, and other sites made to agree: again and again, after edits, and though the daemon is killed in the middle.
// By their own sacctmgr, and by slurmrestd where that can write; what has come of it is always asked of sacctmgr.
func TestSitesAgreeWithTheTree(t *testing.T) {
	world.Need(t)
	t.Run("sacctmgr", func(t *testing.T) { agree(t, true, sites, strings.NewReplacer()) })
	t.Run("slurmrestd", func(t *testing.T) {
		able := slices.DeleteFunc(slices.Clone(sites), func(site string) bool { return site == "delta" }) // 22.05
		agree(t, false, able, strings.NewReplacer("lab", "opt", "high", "urgent", "half", "part", "theirs", "alien"))
	})
}

// agree tells the story with names of its own.
func agree(t *testing.T, command bool, sites []string, named *strings.Replacer) {
	startDaemonBy(t, command)
	must := func(t testing.TB, args ...string) string {
		t.Helper()
		for i := range args {
			args[i] = named.Replace(args[i])
		}
		return must(t, args...)
	}
	has := func(s, sub string) bool { return strings.Contains(s, named.Replace(sub)) }
	var at []*place
	for _, site := range sites {
		at = append(at, &place{t, site})
	}
	alpha, others := at[0], at[1:]
	for _, words := range []string{
		"add qos high", "modify qos high set Priority=100 GraceTime=90 UsageFactor=2 MaxTRESPerUser=gres/gpu=8 Flags=DenyOnLimit GrpTRES=cpu=640",
		"add account lab Cluster=alpha Parent=physics Description=optics Fairshare=7 GrpTRES=gres/gpu=6,cpu=100 GrpJobs=50 MaxWall=1-00:00:00",
		"add user alice Account=lab Cluster=alpha Fairshare=parent MaxJobs=5",
		"modify user where Name=alice Account=lab Cluster=alpha set QOS=normal,high DefaultQOS=high",
		"add coordinator Account=lab Names=carol",
	} {
		alpha.as("", append([]string{"sacctmgr", "-i"}, strings.Fields(named.Replace(words))...)...)
	}

	if out := must(t, "account", "import", "alpha", "--dry-run"); !has(out, "add account lab") || !has(must(t, "account", "list"), "ACCOUNT") {
		t.Fatalf("import --dry-run: %s", out)
	}
	t.Logf("%s", must(t, "account", "import", "alpha"))
	t.Logf("%s", must(t, "account", "list"))
	same := func(when string, p *place) {
		t.Helper()
		if out := must(t, "account", "import", p.site); !strings.HasPrefix(out, "nothing to change\n") || has(out, "left as it is") {
			t.Errorf("%s: import %s: %s", when, p.site, out)
		}
		if out := must(t, "account", "drift", p.site); out != "no differences\n" {
			t.Errorf("%s: drift %s: %s", when, p.site, out)
		}
	}
	same("imported", alpha)

	for _, p := range others {
		before := p.accounting()
		said := must(t, "account", "sync", p.site, "--dry-run")
		if !has(said, "sacctmgr -i add account Name=lab") || before != p.accounting() {
			t.Errorf("%s: a dry run: %s", p.site, said)
		}
		t.Logf("%s: %s", p.site, must(t, "account", "sync", p.site))
		same("synced", p)
		if out := must(t, "account", "sync", p.site); out != "no differences\n" {
			t.Errorf("%s: a second sync: %s", p.site, out)
		}
		p.like(alpha, "synced")
	}

	for _, words := range []string{
		"account modify lab Fairshare=9 GrpTRES=gres/gpu=-1 GrpJobs=-1 MaxWall=120 --no-coordinator carol --coordinator dave",
		"account add lab2 Parent=lab GrpTRESMins=gres/gpu=600",
		"account modify lab2 Parent=vision",
		"account add lab2 --user dave Fairshare=3 --default",
		"account modify lab --user alice Fairshare=-1 MaxJobs=-1 QOS=normal DefaultQOS=normal",
		"qos modify high Priority=50 GraceTime=-1 MaxTRESPerUser=-1 GrpTRES=cpu=320,node=2 Flags=-1",
	} {
		must(t, strings.Fields(words)...)
	}
	for _, p := range at {
		t.Logf("%s: %s", p.site, must(t, "account", "sync", p.site))
		same("edited", p)
		p.like(alpha, "edited")
	}

	// What a site has made itself stays, whatever the federation removes of its own.
	gamma := others[0]
	gamma.as("", strings.Fields(named.Replace("sacctmgr -i add account theirs Cluster=gamma"))...)
	gamma.as("", strings.Fields(named.Replace("sacctmgr -i add user bob Account=theirs Cluster=gamma"))...)
	must(t, strings.Fields("account modify physics --user dave --default")...)
	must(t, strings.Fields("account remove lab2 --user dave")...)
	must(t, strings.Fields("account remove lab2")...)
	if out, err := fed(t, "account", "drift", "gamma"); err == nil || !has(out, "extra") || !has(out, "theirs") || !has(out, "lab2") {
		t.Errorf("drift of what gamma has beyond the tree: %v: %s", err, out)
	}
	must(t, "account", "sync", "gamma")
	if now := gamma.accounting(); !has(now, "theirs|bob") || !has(now, "lab2|dave") {
		t.Errorf("a sync has removed something:\n%s", now)
	}
	for _, p := range at {
		t.Logf("%s: %s", p.site, must(t, "account", "sync", p.site, "--remove"))
		if now := p.accounting(); has(now, "association: lab2") || p == gamma && !has(now, "theirs|bob") {
			t.Errorf("%s: sync --remove has left:\n%s", p.site, now)
		}
	}
	gamma.like(alpha, "removed", named.Replace("theirs"))

	// Killed in the middle, again and again, until a sync comes to its end.
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	times := 1
	if full() {
		times = 10
	}
	for n := range times {
		half := fmt.Sprintf("half%d", n)
		must(t, "account", "add", half, "Parent=physics", "Fairshare=4", "GrpJobs=9")
		for _, u := range []string{"alice", "bob", "carol"} {
			must(t, "account", "add", half, "--user", u, "MaxJobs=3")
		}
		must(t, "account", "modify", half, "--coordinator", "bob")
		for _, p := range at {
			if command {
				os.WriteFile(fuse(), []byte(strconv.Itoa(1+r.IntN(5))), 0o644)
				if out, err := fed(t, "account", "sync", p.site); err == nil {
					t.Errorf("%s: sync outlived its daemon: %s", p.site, out)
				}
				os.Remove(fuse())
				world.Daemon.Kill()
			} else {
				dead := make(chan struct{})
				go func() {
					defer close(dead)
					time.Sleep(time.Duration(r.IntN(150)) * time.Millisecond)
					world.Daemon.Kill()
				}()
				out, err := fed(t, "account", "sync", p.site)
				t.Logf("%s: killed: %v: %s", p.site, err, out)
				<-dead
			}
			if err := world.Daemon.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := world.Daemon.AwaitSites(t.Context()); err != nil {
				t.Fatal(err)
			}
			must(t, "account", "sync", p.site)
			p.like(alpha, "killed", named.Replace("theirs"))
			if out := must(t, "account", "sync", p.site); has(out, half) {
				t.Errorf("%s: the second sync after a kill: %s", p.site, out)
			}
		}
	}
	if now := gamma.accounting(); !has(now, "theirs|bob") {
		t.Errorf("gamma has lost what was its own:\n%s", now)
	}
	gamma.as("", strings.Fields(named.Replace("sacctmgr -i remove user where Name=bob Account=theirs Cluster=gamma"))...)
	gamma.as("", strings.Fields(named.Replace("sacctmgr -i remove account where Name=theirs"))...)
}

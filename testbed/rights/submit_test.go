package rights

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm"
)

// right is something that a user may want of a site: options of sbatch.
type right struct {
	name string
	args []string
	// stricter is why we refuse it although a site would not.
	stricter string
	// early: what the site refuses at once, so do we, and do not let it wait.
	early bool
	// sites that do not know it, with the reason.
	not map[string]string
}

var submitted = []right{
	{name: "nothing special"},
	{name: "a partition with RootOnly", args: []string{"-p", "rootonly"}},
	{name: "a hidden partition", args: []string{"-p", "hidden"}},
	{name: "a partition with AllowGroups", args: []string{"-p", "groups"}},
	{name: "a partition with AllowAccounts", args: []string{"-p", "accounts"}},
	{name: "a partition with DenyAccounts", args: []string{"-p", "denied"}},
	{name: "a partition with AllowQos", args: []string{"-p", "allowqos"}},
	{name: "a partition with DenyQos", args: []string{"-p", "denyqos"}},
	{name: "a partition with AllocNodes", args: []string{"-p", "elsewhere"}},
	{name: "a partition with ReqResv", args: []string{"-p", "reserved"}},
	{name: "a partition that drains", args: []string{"-p", "closed"}},
	{name: "more time than the partition's", args: []string{"-p", "small", "-t", "30"}},
	{name: "more nodes than the partition's", args: []string{"-p", "small", "-N2"}},
	{name: "more CPUs of a node than the partition's", args: []string{"-p", "small", "-n4", "-N1"}},
	{name: "more memory of a node than the partition's", args: []string{"-p", "small", "--mem=4000"}},
	{name: "fewer nodes than the partition's", args: []string{"-p", "wide", "-N1"}},
	{name: "a QOS that is not his", args: []string{"--qos=special"}},
	{name: "more time than his QOS allows", args: []string{"--qos=capped", "-t", "30"}, early: true},
	{name: "more time than the default QOS of his account allows", args: []string{"-A", "strict", "-t", "30"}, early: true},
	{name: "more time than his own default QOS allows", args: []string{"-A", "own", "-t", "30"}, early: true},
	{name: "more time than the only QOS of his account allows", args: []string{"-A", "single", "-t", "30"}, early: true},
	{name: "as much time as his own default QOS allows", args: []string{"-A", "own", "-t", "5"}},
	{name: "more CPUs than his QOS allows", args: []string{"--qos=capped", "-t", "2", "-n8"}},
	{name: "more time than a QOS allows that has jobs wait", args: []string{"--qos=slow", "-t", "30"}},
	{name: "more CPUs than a QOS allows that has jobs wait", args: []string{"--qos=slow", "-t", "2", "-n8"}},
	{name: "an account that is not his", args: []string{"-A", "vision"}},
	{name: "a reservation of others", args: []string{"--reservation=bobs"}},
	{name: "a node that is reserved for others", args: []string{"-w", "%N4"}},
	{name: "a node that is reserved for others, and a reservation's flag", args: []string{"-w", "%N4", "--signal=R:USR1@10"}},
	{name: "nice below zero", args: []string{"--nice=-100"}},
	{name: "a priority", args: []string{"--priority=1000000"}},
	{name: "the first place", args: []string{"--priority=TOP"}},
	{name: "nodes that are booted anew", args: []string{"--reboot"}},
	{name: "more licences than there are", args: []string{"-L", "matlab:11"}},
	{name: "licences that do not exist", args: []string{"-L", "nosuch:1"}},
	{name: "a deadline that is over", args: []string{"--deadline=2020-01-01"}},
	{name: "a time without end", args: []string{"-t", "UNLIMITED"}},
	{name: "cores of the system", args: []string{"--core-spec=0"}, stricter: "no version of the API can say 0"},
	{name: "more cores for the system", args: []string{"--core-spec=2"}},
	{name: "threads for the system", args: []string{"--thread-spec=2"}},
	{name: "nodes that others share", args: []string{"--oversubscribe"}},
	{name: "nodes for his own jobs", args: []string{"--exclusive=user"}},
	{name: "whole nodes", args: []string{"--exclusive"}},
	{name: "a label that others cannot see", args: []string{"--mcs-label=physics"}},
	{name: "a WCKey", args: []string{"--wckey=nosuch"}, stricter: "22.05's API has no word for it"},
	{name: "a burst buffer", args: []string{"--bb=capacity=1G"}},
	{name: "the step manager", args: []string{"--stepmgr"}, not: map[string]string{"delta": "22.05 does not have it"}},
	{name: "another user", args: []string{"--uid=bob"}},
	{name: "another group", args: []string{"--gid=bob"}},
}

// Verdicts.
const (
	refused = "refused"
	waits   = "waits"
	runs    = "runs"
	unknown = "-"
)

// trial is one right at one site, asked for in three ways.
type trial struct {
	right
	user, slurmUser, ours way
}

// way is what came of asking.
type way struct {
	verdict string
	said    string
	id      string // of the job at the site
}

func (r *right) line(site string) []string {
	var out []string
	for _, a := range r.args {
		out = append(out, strings.ReplaceAll(a, "%N", site))
	}
	return append(out, "-o", "/dev/null", "--wrap", "true")
}

// TestSubmissions asks each site for each right.
func TestSubmissions(t *testing.T) {
	world.Need(t)
	for _, site := range sites() {
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			trials := ask(t, site)
			settle(t, site, trials)
			for i := range trials {
				r := &trials[i]
				t.Run(r.name, func(t *testing.T) { judge(t, site, r) })
			}
		})
	}
}

// ask submits each right in all ways.
func ask(t *testing.T, site string) []trial {
	driver := open(t, site)
	var rights []right
	for _, r := range submitted {
		if r.not[site] == "" {
			rights = append(rights, r)
		}
	}
	out := make([]trial, len(rights))
	several := errgroup.Group{}
	several.SetLimit(4)
	for i, r := range rights {
		several.Go(func() error {
			out[i] = askFor(t, driver, site, r)
			return nil
		})
	}
	_ = several.Wait()
	return out
}

func askFor(t *testing.T, driver *slurm.Driver, site string, r right) trial {
	x := trial{right: r}
	o := at(t, site, "alice", append([]string{"sbatch", "--parsable"}, r.line(site)...)...)
	x.user = way{said: strings.TrimSpace(o.stderr), id: strings.TrimSpace(o.stdout)}
	if o.code != 0 {
		x.user.verdict = refused
	}
	if x.slurmUser.verdict = unknown; full() {
		x.slurmUser = bySlurmUser(t, driver, site, &r)
	}
	o = login(t, "alice", append([]string{"fsub", "--parsable", "--fed-sites=" + site}, r.line(site)...)...)
	x.ours = way{said: strings.TrimSpace(o.stderr), id: strings.TrimSpace(o.stdout)}
	if o.code != 0 {
		x.ours.verdict = refused
	}
	return x
}

func open(t *testing.T, site string) *slurm.Driver {
	info, err := world.Bed.Site(site)
	if err != nil {
		t.Fatal(err)
	}
	c := slurm.Config{Name: federation.SiteName(site), Federation: "direct", URL: info.RestURL, KeyFile: info.KeyFile, Timeout: time.Minute, RPS: 1000, Burst: 1000, DefaultPartition: "main"}
	if site == "delta" {
		c.NodeCommand = []string{"/usr/bin/env", scontrolAt + "=" + world.Bed.Dir() + ":" + site, os.Args[0]}
	}
	d, err := slurm.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// nextID is far from the numbers that the daemon gives.
var nextID atomic.Uint32

func init() { nextID.Store(uint32(federation.FirstJobID) + 20_000_000) }

type files struct{}

func (files) Exists(string) bool { return false }

func (files) Read(string, int) ([]byte, error) { return nil, os.ErrNotExist }

// bySlurmUser sends to the site what fsub would, past all checks of the daemon.
func bySlurmUser(t *testing.T, d *slurm.Driver, site string, r *right) way {
	req, err := sbatch.Parse(sbatch.Input{Args: r.line(site), Dir: "/tmp", Now: time.Now(), Files: files{}, Env: []string{"PATH=/usr/bin:/bin", "USER=alice"}})
	if err != nil {
		return way{verdict: unknown, said: err.Error()}
	}
	j := &federation.Job{ID: federation.JobID(nextID.Add(1)), Spec: &req.Spec}
	s := federation.Submission{Job: j, Payload: req.Payload, Partition: cmp.Or(req.Spec.Partition, "main"), User: federation.SiteUser{Name: "alice", UID: 7001, GID: 7001},
		Key: federation.AttemptKey("direct", j, 1), First: true}
	got, err := d.Submit(t.Context(), s)
	if err != nil {
		return way{verdict: refused, said: err.Error()}
	}
	return way{id: strconv.FormatUint(uint64(got.SiteJobID), 10)}
}

// settle waits until each job has run, or will not.
func settle(t *testing.T, site string, trials []trial) {
	client := world.Daemon.Client()
	defer client.Close()
	quiet, last := time.Now(), ""
	for deadline := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		there := map[string][]string{}
		for line := range strings.Lines(at(t, site, "", "squeue", "-a", "-h", "-t", "all", "-o", "%A|%T|%r|%l|%q|%a|%P|%C").stdout) {
			f := strings.Split(strings.TrimSpace(line), "|")
			there[f[0]] = f
		}
		open, now := 0, ""
		for i := range trials {
			x := &trials[i]
			for _, w := range []*way{&x.user, &x.slurmUser} {
				if w.verdict != "" && w.verdict != waits || w.id == "" {
					continue
				}
				w.verdict = ""
				if f := there[w.id]; f != nil {
					if w.verdict, w.said = verdict(f[1], f[2]); w.verdict == runs {
						w.said = strings.Join(f[3:], " ")
					}
				}
				if w.verdict == "" {
					open++
				}
				now += w.verdict + w.said
			}
			if w := &x.ours; w.id != "" && (w.verdict == "" || w.verdict == waits) {
				n, err := strconv.ParseUint(w.id, 10, 32)
				if err != nil {
					t.Fatalf("%s: fsub printed %q", x.name, w.id)
				}
				got, err := client.Job(t.Context(), federation.JobID(n))
				if err != nil {
					t.Fatal(err)
				}
				w.verdict, w.said = verdict(string(got.Job.State), string(got.Job.Reason))
				if j := &got.Job; j.State.Ended() && j.Start.IsZero() { // the site has not taken it
					w.verdict, w.said = refused, fmt.Sprint(j.State, " ", j.Reason)
				}
				if w.verdict == "" && x.user.verdict == runs {
					open++
				}
				now += w.verdict + w.said
			}
		}
		if now != last {
			quiet, last = time.Now(), now
		}
		if open == 0 && time.Since(quiet) > 6*time.Second {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d jobs have neither run nor a reason to wait", open)
		}
	}
	for i := range trials {
		for _, w := range []*way{&trials[i].user, &trials[i].slurmUser, &trials[i].ours} {
			if w.verdict == "" {
				w.verdict = waits
			}
			if w.verdict == waits && w.id != "" {
				at(t, site, "", "scancel", w.id)
			}
		}
		if w := trials[i].ours; w.verdict == waits {
			login(t, "alice", "scancel", w.id)
		}
	}
}

// verdict is what the state of a job says; "": nothing yet.
func verdict(state, reason string) (string, string) {
	switch {
	case state == "PENDING" && (reason == "None" || reason == "Priority" || reason == "Resources" || reason == ""):
		return "", reason
	case state == "PENDING":
		return waits, reason
	case state == "CONFIGURING":
		return "", state
	}
	return runs, state
}

func judge(t *testing.T, site string, x *trial) {
	text := fmt.Sprintf("by his own sbatch: %s %q; as SlurmUser: %s %q; through us: %s %q", x.user.verdict, x.user.said, x.slurmUser.verdict, x.slurmUser.said, x.ours.verdict, x.ours.said)
	t.Log(text)
	switch {
	case x.ours.verdict == runs && x.user.verdict != runs:
		t.Error("a user gets through us what he cannot have at the site: " + text)
	case x.ours.verdict != runs && x.user.verdict == runs && x.stricter == "":
		t.Error("a user can have it at the site, and not through us: " + text)
	case x.early && (x.user.verdict != refused || x.ours.verdict != refused):
		t.Error("not refused by both: " + text)
	}
}

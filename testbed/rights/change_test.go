package rights

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// change is what a user may want of a job of his that waits at a site.
type change struct {
	name   string
	args   []string // of the job
	change []string // as scontrol update takes it; each by itself
	option string   // sbatch's word for the change, for what SlurmUser asks the site itself; "": none
	value  string
}

var changed = []change{
	{name: "its name", change: []string{"jobname=x"}, option: "job-name", value: "x"},
	{name: "less time", change: []string{"timelimit=4"}, option: "time", value: "4"},
	{name: "more time", change: []string{"timelimit=20"}, option: "time", value: "20"},
	{name: "more time than the partition's", change: []string{"timelimit=30-0"}, option: "time", value: "30-0"},
	{name: "more time than his QOS allows", args: []string{"--qos=capped", "-t", "2"}, change: []string{"timelimit=30"}, option: "time", value: "30"},
	{name: "more time than a QOS allows that has jobs wait", args: []string{"--qos=slow", "-t", "2"}, change: []string{"timelimit=30"}, option: "time", value: "30"},
	{name: "more CPUs than his QOS allows", args: []string{"--qos=capped", "-t", "2"}, change: []string{"numtasks=8"}, option: "ntasks", value: "8"},
	{name: "more CPUs than a QOS allows that has jobs wait", args: []string{"--qos=slow", "-t", "2"}, change: []string{"numtasks=8"}, option: "ntasks", value: "8"},
	{name: "a QOS that is not his", change: []string{"qos=special"}, option: "qos", value: "special"},
	{name: "a QOS that allows less", args: []string{"-t", "30"}, change: []string{"qos=capped"}, option: "qos", value: "capped"},
	{name: "an account that is not his", change: []string{"account=vision"}, option: "account", value: "vision"},
	{name: "a partition with RootOnly", change: []string{"partition=rootonly"}, option: "partition", value: "rootonly"},
	{name: "a partition with AllowGroups", change: []string{"partition=groups"}, option: "partition", value: "groups"},
	{name: "a partition with AllowAccounts", change: []string{"partition=accounts"}, option: "partition", value: "accounts"},
	{name: "a partition with AllowQos", change: []string{"partition=allowqos"}, option: "partition", value: "allowqos"},
	{name: "a partition with AllocNodes", change: []string{"partition=elsewhere"}, option: "partition", value: "elsewhere"},
	{name: "a partition with ReqResv", change: []string{"partition=reserved"}, option: "partition", value: "reserved"},
	{name: "a partition of less time", args: []string{"-t", "30"}, change: []string{"partition=small"}, option: "partition", value: "small"},
	{name: "a reservation of others", change: []string{"reservationname=bobs"}, option: "reservation", value: "bobs"},
	{name: "nice below zero", change: []string{"nice=-100"}, option: "nice", value: "-100"},
	{name: "a priority", change: []string{"priority=1000000"}},
	{name: "licences that do not exist", change: []string{"licenses=nosuch:1"}, option: "licenses", value: "nosuch:1"},
	{name: "a node that is reserved for others", change: []string{"reqnodelist=%N4"}, option: "nodelist", value: "%N4"},
}

// changing is one change at one site, in three ways.
type changing struct {
	change
	trial
}

// TestUpdates has users change jobs that wait at a site: what they could not change there they cannot change through us, although the site
// is told by SlurmUser. It comes first: as SlurmUser TestSubmissions has nodes booted anew.
func TestUpdates(t *testing.T) {
	world.Need(t)
	for _, site := range sites() {
		t.Run(site, func(t *testing.T) {
			release := fill(t, site)
			d := open(t, site)
			all := make([]changing, len(changed))
			for i := range changed {
				x := &all[i]
				x.change, x.right.name = changed[i], changed[i].name
				line := (&right{args: changed[i].args}).line(site)
				x.user.id = strings.TrimSpace(at(t, site, "alice", append([]string{"sbatch", "--parsable"}, line...)...).stdout)
				o := login(t, "alice", append([]string{"fsub", "--parsable", "--fed-sites=" + site}, line...)...)
				if x.ours.id = strings.TrimSpace(o.stdout); o.code != 0 {
					t.Fatalf("%s: %s", x.change.name, o.stderr)
				}
				x.slurmUser.verdict = unknown
				if full() && site != "delta" && x.option != "" {
					x.slurmUser = bySlurmUser(t, d, site, &right{args: changed[i].args})
				}
			}
			awaitThere(t, site, all)
			for i := range all {
				x := &all[i]
				for _, c := range x.change.change {
					c = strings.ReplaceAll(c, "%N", site)
					if o := at(t, site, "alice", "scontrol", "update", "jobid="+x.user.id, c); o.code != 0 {
						x.user.verdict, x.user.said = refused, strings.TrimSpace(o.stderr)
					}
					if o := login(t, "alice", "scontrol", "update", "jobid="+x.ours.id, c); o.code != 0 {
						x.ours.verdict, x.ours.said = refused, strings.TrimSpace(o.stderr)
					}
				}
				if x.slurmUser.id != "" {
					before := parsed(t, x.args, site)
					after, err := federation.ChangedSpec(before, []sbatch.Change{{Key: x.option, Option: x.option, Value: strings.ReplaceAll(x.value, "%N", site)}}, time.Now())
					if err != nil {
						t.Fatal(err)
					}
					then := *before
					then.SetSpec(after)
					n, _ := strconv.ParseUint(x.slurmUser.id, 10, 32)
					before.ID = federation.JobID(n)
					then.ID = before.ID
					before.Partition, then.Partition = "main", "main"
					key := federation.AttemptKey("direct", before, 1)
					if err := d.Update(t.Context(), federation.JobRef{ID: before.ID, Key: key, SiteJobID: uint32(n)}, "", before, &then); err != nil {
						x.slurmUser.verdict, x.slurmUser.said = refused, err.Error()
					}
				}
			}
			time.Sleep(3 * time.Second) // for what is asked of the site afterwards
			release()
			trials := make([]trial, len(all))
			for i := range all {
				trials[i] = all[i].trial
			}
			settle(t, site, trials)
			for i := range trials {
				x := &trials[i]
				if site == "delta" {
					x.stricter = "22.05 changes nothing by its API: the job is taken back, and the site keeps its number for two minutes"
				}
				t.Run(x.name, func(t *testing.T) { judge(t, site, x) })
			}
		})
	}
}

func parsed(t *testing.T, args []string, site string) *federation.Job {
	t.Helper()
	req, err := sbatch.Parse(sbatch.Input{Args: (&right{args: args}).line(site), Dir: "/tmp", Now: time.Now(), Files: files{}, Env: []string{"PATH=/usr/bin:/bin", "USER=alice"}})
	if err != nil {
		t.Fatal(err)
	}
	return &federation.Job{Spec: &req.Spec}
}

// fill has bob hold all nodes of a site, and wait for them once more, until release.
func fill(t *testing.T, site string) (release func()) {
	t.Helper()
	for range 2 {
		if o := at(t, site, "bob", "sbatch", "--exclusive", "-N3", "-x", site+"4", "-t60", "-o", "/dev/null", "--wrap", "sleep 3000"); o.code != 0 {
			t.Fatal(o.stderr)
		}
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(300 * time.Millisecond) {
		if strings.TrimSpace(at(t, site, "", "squeue", "-h", "-u", "bob", "-t", "R", "-o", "%D").stdout) == "3" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("bob's job does not start")
		}
	}
	release = func() { world.Bed.Output(context.WithoutCancel(t.Context()), site, "bob", "scancel", "-u", "bob") }
	t.Cleanup(release)
	return release
}

// awaitThere waits until our jobs wait at the site.
func awaitThere(t *testing.T, site string, all []changing) {
	t.Helper()
	client := world.Daemon.Client()
	defer client.Close()
	for deadline := time.Now().Add(patience); ; time.Sleep(300 * time.Millisecond) {
		here := ""
		for i := range all {
			n, _ := strconv.ParseUint(all[i].ours.id, 10, 32)
			got, err := client.Job(t.Context(), federation.JobID(n))
			if err != nil {
				t.Fatal(err)
			}
			if got.Job.Site == "" {
				here += fmt.Sprintf("%s: %s %s; ", all[i].change.name, got.Job.State, got.Job.Reason)
			}
		}
		if here == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("jobs do not go to %s to wait there: %s", site, here)
		}
	}
}

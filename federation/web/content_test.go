package web

import (
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	v1 "fsub/federation/api/v1"
	"fsub/federation/usage"
)

// The page of an array has counts of its tasks, and those that failed first, however many there are; a task leads to its array.
func TestArrayPage(t *testing.T) {
	p := furnished(t)
	b := p.signedIn(alice, false)
	status, page := b.get("/job/20")
	text := textOf(page)
	for _, want := range []string{"Array 20", "Of its 12 tasks 4 wait in the federation's queue, 1 runs.", "3 completed 2 failed 1 node_fail 4 pending 1 running 1 timeout"} {
		if !strings.Contains(text, want) {
			t.Errorf("%d: the page lacks %q: %s", status, want, text)
		}
	}
	var failed []string
	for _, m := range regexp.MustCompile(`<a href="/job/(2\d)"><span data-live="First tasks that failed`).FindAllStringSubmatch(page, -1) {
		failed = append(failed, m[1])
	}
	if want := []string{"26", "23", "22", "27"}; !reflect.DeepEqual(failed, want) {
		t.Errorf("those that failed: %v, want %v, in order of their ends", failed, want)
	}
	if _, task := b.get("/job/22"); !strings.Contains(textOf(task), "Job 20_1") || !strings.Contains(task, `<a href="/job/20">array 20</a>`) {
		t.Errorf("a task does not lead to its array: %s", textOf(task))
	}
	if _, list := b.get("/jobs?user=&id=20&state=failed"); strings.Count(list, "<tr data-row") != 4 || !strings.Contains(list, "Tasks of 20") {
		t.Errorf("its tasks that failed: %s", textOf(list))
	}
	for range 100 {
		p.Put(t, p.failedTask(t))
	}
	if _, page := b.get("/job/20"); strings.Count(page, `data-row="First tasks that failed`) != mostTasks {
		t.Errorf("%d tasks that failed are listed, want %d", strings.Count(page, `data-row="First tasks that failed`), mostTasks)
	}
}

// The page of a group counts its jobs, those of groups within it too, and lists those that failed last; a job leads to its group.
func TestGroupPage(t *testing.T) {
	p := furnished(t)
	b := p.signedIn(alice, false)
	_, page := b.get("/group?name=sweep")
	for _, want := range []string{"Group sweep", "1 pending", "Priority", "broken ✕"} {
		if !strings.Contains(strings.ReplaceAll(textOf(page), "FAILED", "✕"), want) {
			t.Errorf("the page lacks %q: %s", want, textOf(page))
		}
	}
	if _, job := b.get("/job/7"); !strings.Contains(job, `href="/group?name=sweep%2Fa"`) {
		t.Errorf("a job does not lead to its group: %s", textOf(job))
	}
	if _, list := b.get("/jobs?user=&group=sweep"); strings.Count(list, "<tr data-row") != 1 || !strings.Contains(list, "Jobs of group sweep") {
		t.Errorf("its jobs: %s", textOf(list))
	}
	if status, _ := b.get("/group"); status != http.StatusNotFound {
		t.Errorf("no group: %d", status)
	}
}

// failedTask is another task of the array 20.
func (p *house) failedTask(t *testing.T) federation.Job {
	t.Helper()
	p.failures++
	j := jobOf(federation.JobID(2000+p.failures), alice, "sweep", federation.Failed)
	j.Part, j.Start, j.End = &federation.ArrayPart{Array: 20, Index: 100 + p.failures, Count: 12, Max: 11, Step: 1}, time.Now(), time.Now()
	return j
}

// Of a job that has ended its page says what it used of what it held, as seff does.
func TestUsed(t *testing.T) {
	p := furnished(t)
	now := time.Now()
	j := jobOf(60, alice, "measured", federation.Completed)
	j.Site, j.Start, j.End, j.Spec.TimeLimit = "alpha", now.Add(-time.Hour), now.Add(-50*time.Minute), time.Hour
	p.Put(t, j)
	use := usage.Usage{Job: 60, Index: -1, Total: 5 * time.Minute, Allocated: []usage.Amount{{Type: "cpu", Count: 2}, {Type: "mem", Count: 4096}},
		Steps: []usage.Step{{ID: "batch", In: usage.Measured{Total: []usage.Amount{{Type: "mem", Count: 1 << 30}}}}}}
	if err := p.Usage.PutUsage(t.Context(), 60, []usage.Usage{use}); err != nil {
		t.Fatal(err)
	}
	_, page := p.signedIn(alice, false).get("/job/60")
	for _, want := range []string{"Time limit 1h0m 10m 17 %", "Memory 4 GiB 1 GiB 25 %", "CPU time"} {
		if !strings.Contains(textOf(page), want) {
			t.Errorf("the page lacks %q: %s", want, textOf(page))
		}
	}
}

// A page of operators that stays open reads only what is new of the last hour's events.
func TestRecentEvents(t *testing.T) {
	p := furnished(t)
	b := p.signedIn(alice, false)
	var asked []string
	for range 3 {
		for _, q := range p.asked.during(func() { b.get("/operate") }) {
			if strings.HasPrefix(q.path, "/fed/v1/events?") {
				asked = append(asked, regexp.MustCompile(`(since|after)=`).FindString(q.path))
			}
		}
	}
	if want := []string{"since=", "after=", "after="}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked for events %v, want %v", asked, want)
	}
}

// A team is the accounts that a user is in or coordinates, with those below these.
func TestOfTeam(t *testing.T) {
	tree := []v1.Account{
		{Kind: accounts.Account, Name: "root"}, {Kind: accounts.Account, Name: "physics", Parent: "root", Coordinators: []string{"carol"}},
		{Kind: accounts.Account, Name: "optics", Parent: "physics", Set: map[string]string{"GrpTRES": "gres/gpu=8", "Fairshare": "3"}}, {Kind: accounts.Account, Name: "vision", Parent: "root"},
		{Kind: accounts.User, Account: "vision", Name: "alice"},
	}
	for user, want := range map[string]map[string]bool{"carol": {"physics": true, "optics": true}, "alice": {"vision": true}, "bob": {}} {
		if got := ofTeam(tree, user); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", user, got, want)
		}
	}
	if got := limitRows(tree[2:3])[1]; !reflect.DeepEqual(got, []string{"optics", "", "GrpTRES=gres/gpu=8"}) {
		t.Errorf("limits: %q", got)
	}
}

// Waste is told by user, those first who have lost most.
func TestWaste(t *testing.T) {
	rows := wasteRows([]v1.BookedSum{
		{Values: []string{"physics", "alice"}, Fate: "productive", Amount: 9 * accounting.Dollar, CPUUsed: 30, CPUOf: 60, LimitBy: 1, LimitOf: 10},
		{Values: []string{"physics", "alice"}, Fate: "lost", Amount: 2 * accounting.Dollar, CPUUsed: 0, CPUOf: 60},
		{Values: []string{"physics", "bob"}, Fate: "idle", Amount: 3 * accounting.Dollar, GPUUsed: 1, GPUOf: 100},
	})
	if want := [][]string{{"physics", "bob", "", "1 %", "", "$0.00", "$3.00"}, {"physics", "alice", "25 %", "", "10 %", "$2.00", "$0.00"}}; !reflect.DeepEqual(rows[1:], want) {
		t.Errorf("%q, want %q", rows[1:], want)
	}
}

// Heads are written as words are, numbers stand to the right, and rows keep their names when others come.
func TestTables(t *testing.T) {
	for head, want := range map[string]string{"FREE CPUS": "Free CPUs", "JOBID": "Job", "GPU HOURS": "GPU hours", "$/H": "$/h", "TREE_ACCOUNT": "Tree account", "NODES": "Nodes"} {
		if got := headWord(head); got != want {
			t.Errorf("%s: %q, want %q", head, got, want)
		}
	}
	for text, want := range map[string]kindOf{"12": number, "<$0.01": number, "$1200.50": number, "12 %": number, "3h10m": number, "0 min": number, "132 d old?": number, "2s": number, "4 GiB": number, "": empty, "-": empty,
		"24.11.5": word, "n1": word, "3:0": word, "2026-11-29T10:00:00Z": word, "main": word, "1-3": word} {
		if got := kindOfColumn([][]string{{"x", text}}, 1); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	kinds := []kindOf{word, word, number}
	before := rowKeys("T", [][]string{{"a", "x", "1"}, {"b", "x", "1"}, {"b", "y", "2"}}, kinds)
	after := rowKeys("T", [][]string{{"b", "y", "3"}, {"a", "z", "2"}, {"b", "x", "1"}}, kinds)
	if want := []string{before[2], before[0], before[1]}; !reflect.DeepEqual(after, want) {
		t.Errorf("%q, want %q", after, want)
	}
}

// On the team's page a user sees who runs and waits, of the own accounts.
func TestTeamPage(t *testing.T) {
	p := furnished(t)
	status, page := p.signedIn(alice, false).get("/team")
	for _, want := range []string{"Running and waiting", "JobHeldAdmin 1 1", "Limits", "Waste", "physics alice"} {
		if status != http.StatusOK || !strings.Contains(textOf(page), want) {
			t.Errorf("%d: the page lacks %q: %s", status, want, textOf(page))
		}
	}
}

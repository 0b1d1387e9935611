package top

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

func topOf(sites, nodes, jobs int, now time.Time) *topData {
	d := &topData{at: now}
	for i := range sites {
		d.sites = append(d.sites, v1.Site{Name: federation.SiteName(fmt.Sprintf("site%d", i)), State: federation.FedActive, Answering: i != 1, Seen: now.Add(-time.Second), Nodes: 1000, CallsPerSecond: 100, CallsUsed: 0.42})
	}
	if sites > 0 {
		d.sites[0].JobsIdleHeld, d.sites[0].GPUsIdleHeld = 3, 24
		d.sites[0].Fragments = []v1.FreeGPUs{{Type: "h100", Free: 13, OnNodes: 8, Leaves: 2, Fragmented: 0.62}}
	}
	for i := range nodes {
		d.nodes = append(d.nodes, v1.Node{Site: "site0", Name: fmt.Sprintf("n%d", i), State: []string{"IDLE", "DRAIN"}, Reason: fmt.Sprintf("reason %d\x1b[2J", i%7)})
	}
	for i := range jobs {
		j := v1.JobLine{ID: federation.JobID(30_000_000 + i), User: fmt.Sprintf("user%d", i%3), Name: strings.Repeat("nämé", 20), State: federation.Pending, Reason: "Resources", Submit: now.Add(-time.Duration(i) * time.Minute)}
		if i%2 == 1 {
			j.State, j.Site, j.Nodes = federation.Running, "site0", "n1"
		}
		d.jobs = append(d.jobs, j)
		d.counts = append(d.counts, v1.JobCount{State: j.State, Jobs: 1})
	}
	return d
}

// A frame fits into the terminal, however much there is to show, and has something of each section.
func TestTopFits(t *testing.T) {
	now := time.Now()
	for _, size := range [][2]int{{80, 24}, {120, 50}, {40, 10}} {
		for _, n := range []int{0, 1, 3, 40} {
			v := topView{width: size[0], height: size[1]}
			text := topOf(n, 5*n, 10*n, now).frame(&v, now)
			lines := strings.Split(text, "\n")
			if len(lines) != v.height {
				t.Errorf("%v, %d sites: %d lines", size, n, len(lines))
			}
			for _, l := range lines {
				if utf8.RuneCountInString(l) > v.width || strings.ContainsRune(l, 0x1b) {
					t.Errorf("%v, %d sites: %q", size, n, l)
				}
			}
			if v.height < 24 || n == 0 {
				continue
			}
			for _, want := range []string{"SITE", "site0", "42%", "site0/h100", "62%", "held and idle: 24 GPUs (site0 24) by jobs: 3", "DRAINED", "JOBID", "30000", "q quit"} {
				if !strings.Contains(text, want) {
					t.Errorf("%v, %d sites: no %s in\n%s", size, n, want, text)
				}
			}
		}
	}
}

func TestTopKeys(t *testing.T) {
	now := time.Now()
	d, v := topOf(2, 3, 6, now), &topView{width: 100, height: 30}
	press := func(keys string) {
		for _, k := range keys {
			v.key(tea.KeyPressMsg{Code: k, Text: string(k)})
		}
	}
	before := func(a, b string) bool {
		text := d.frame(v, now)
		return strings.Contains(text, a) && strings.Index(text, a) < strings.Index(text, b)
	}
	if !before("30000005", "30000000") { // the oldest first
		t.Errorf("by age:\n%s", d.frame(v, now))
	}
	press("r")
	if !before("30000000", "30000005") {
		t.Errorf("by age, reversed:\n%s", d.frame(v, now))
	}
	press("rs")
	if !before("user0", "user1") || !before("user1", "user2") {
		t.Errorf("by user:\n%s", d.frame(v, now))
	}
	press("/user2")
	v.key(tea.KeyPressMsg{Code: tea.KeyEnter})
	if text := d.frame(v, now); strings.Contains(text, "user1") || !strings.Contains(text, "user2") || !strings.Contains(text, "/ filter (user2)") {
		t.Errorf("filtered:\n%s", text)
	}
	if cmd := v.key(tea.KeyPressMsg{Code: 'q', Text: "q"}); cmd == nil {
		t.Error("q does not quit")
	}
	m := &topModel{data: *d, view: *v}
	m.Update(topData{err: errors.New("the daemon is away")})
	if text := m.View().Content; !strings.Contains(text, "no data since") || !strings.Contains(text, "user2") {
		t.Errorf("while the daemon is away:\n%s", text)
	}
}

// Of very many jobs the frame has the first, counts all, and says how many it leaves out.
func TestTopOfVeryManyJobs(t *testing.T) {
	now := time.Now()
	d := topOf(1, 0, 1000, now)
	d.counts = []v1.JobCount{{State: federation.Pending, Jobs: 999_000}, {State: federation.Running, Jobs: 1000}}
	text := d.frame(&topView{width: 100, height: 24}, now)
	shown := strings.Count(text, "Resources") + strings.Count(text, " n1")
	if want := fmt.Sprintf("... %d more", 1_000_000-shown); !strings.Contains(text, want) || !strings.Contains(text, "jobs: 1000 running, 999000 waiting") {
		t.Errorf("want %q in\n%s", want, text)
	}
	d.jobs = d.jobs[:2]
	if text := d.frame(&topView{width: 100, height: 24}, now); !strings.Contains(text, "... 999998 more") {
		t.Error(text)
	}
}

package web

import (
	"html"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fsub/federation"
)

// hostile is a name with markup, a quotation mark, writing from right to left, an escape of terminals, and 64 KB.
var hostile = `<script>alert(1)</script>"'><img src=x onerror=x>` + "\u202egnp\x1b[2J\x00" + strings.Repeat("x", 64<<10)

// What users name is text on every page, without what does not show, and not longer than anybody reads.
func TestHostileNames(t *testing.T) {
	p := start(t)
	p.Put(t, jobOf(9, alice, hostile, federation.Pending))
	b := p.signedIn(alice, false)
	for _, path := range []string{"/jobs", "/job/9", "/jobs.live", "/jobs.csv", "/jobs?name=" + url.QueryEscape(hostile[:100]), "/job/%3Cscript%3E", "/login?to=%22%3E%3Cscript%3E"} {
		_, text := b.get(path)
		if strings.ContainsAny(text, "\u202e\x1b\x00") || len(text) > 40<<10 {
			t.Errorf("%s: %d bytes, with what does not show: %v", path, len(text), strings.ContainsAny(text, "\u202e\x1b\x00"))
		}
		if !strings.HasSuffix(path, ".csv") && (strings.Contains(text, "<script>") || strings.Contains(text, "<img")) {
			t.Errorf("%s: the name has become markup", path)
		}
	}
}

// By role: a user acts on what is the user's own, and sees no audit log; an operator likewise until the session is raised.
func TestRightsByRole(t *testing.T) {
	p := start(t)
	cancel := func(b *browser, job string) (int, string) {
		return b.post("/act", url.Values{"verb": {"cancel"}, "job": {job}, "confirmed": {"yes"}})
	}
	for name, b := range map[string]*browser{"alice": p.signedIn(alice, false), "olga, not raised": p.signedIn(olga, false)} {
		if _, text := cancel(b, "3"); strings.Contains(text, "Operation") {
			t.Errorf("%s cancels bob's job: %s", name, text)
		}
		if j, err := p.Store.Job(t.Context(), 3); err != nil || j.Cancel {
			t.Errorf("%s has cancelled bob's job: %v", name, err)
		}
		for _, path := range []string{"/jobs", "/now", "/operate", "/job/3"} {
			status, text := b.get(path)
			if status != http.StatusOK || strings.Contains(text, "Who did what") || strings.Contains(text, `id="log"`) {
				t.Errorf("%s: %s: %d, or with what operators see", name, path, status)
			}
		}
		if status, _ := b.get("/job/3/log"); status != http.StatusForbidden {
			t.Errorf("%s: the output of bob's job: %d", name, status)
		}
	}
	raised := p.signedIn(olga, true)
	if _, text := raised.get("/operate"); !strings.Contains(text, "operator until") || !strings.Contains(text, "Who did what") {
		t.Error("a raised session sees no audit log, or does not say that it is raised")
	}
	p.clock.advance(16 * 60e9)
	if _, text := raised.get("/operate"); strings.Contains(text, "Who did what") {
		t.Error("a session is raised for more than 15 minutes")
	}
}

// Many jobs are shown a hundred at a time, each once, in both directions; how many there are is said from counters.
func TestJobsPageByPage(t *testing.T) {
	p := start(t)
	for i := range federation.JobID(250) {
		p.Put(t, jobOf(1000+i, alice, "many", federation.Pending))
	}
	b := p.signedIn(alice, false)
	row := regexp.MustCompile(`href="/job/(\d+)"`)
	link := regexp.MustCompile(`href="([^"]+)">(Newer|Older)</a>`)
	pages := func(path, word string) (all [][]string, last string) {
		for path != "" {
			status, text := b.get(path)
			if status != http.StatusOK || !strings.Contains(text, ">251</") { // with the one that start has
				t.Fatalf("%s: %d, or without the number of jobs: %s", path, status, text)
			}
			last, path = path, ""
			for _, m := range link.FindAllStringSubmatch(text, -1) {
				if m[2] == word {
					path = html.UnescapeString(m[1])
				}
			}
			var ids []string
			for _, m := range row.FindAllStringSubmatch(text, -1) {
				ids = append(ids, m[1])
			}
			all = append(all, ids)
		}
		return all, last
	}
	older, last := pages("/jobs", "Older")
	if len(older) != 3 || len(older[0]) != 100 || older[0][0] != "1249" || older[2][len(older[2])-1] != "1" {
		t.Errorf("pages: %v", older)
	}
	newer, _ := pages(last, "Newer")
	slices.Reverse(newer)
	if !reflect.DeepEqual(newer, older) {
		t.Errorf("back: %v\nthere: %v", newer, older)
	}
	seen := map[string]int{}
	for _, ids := range older {
		for _, id := range ids {
			seen[id]++
		}
	}
	for i := 1000; i < 1250; i++ {
		if id := strconv.Itoa(i); seen[id] != 1 {
			t.Errorf("job %s is shown %d times", id, seen[id])
		}
	}
}

// What is done to an array from its page is done to all of its tasks that live, those that have started among them.
func TestActOnAnArray(t *testing.T) {
	p := furnished(t)
	b := p.signedIn(alice, false)
	form := url.Values{"verb": {"cancel"}, "job": {"20"}, "whole": {"yes"}}
	_, text := b.post("/act", form)
	for _, want := range []string{"20_[8-11]", "20_3", "Cancel 2 jobs", `name="whole" value="yes"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the preview lacks %q: %s", want, textOf(text))
		}
	}
	form.Set("confirmed", "yes")
	if status, _ := b.post("/act", form); status != http.StatusSeeOther {
		t.Fatalf("confirmed: %d", status)
	}
	ops, err := p.Store.Operations(t.Context(), false, 100)
	if err != nil {
		t.Fatal(err)
	}
	items, err := p.Store.OperationItems(t.Context(), ops[len(ops)-1].ID)
	asked := 0
	for _, i := range items {
		if i.Settled == 0 {
			asked++
		}
	}
	if err != nil || asked != 2 {
		t.Errorf("%d tasks are asked for: %+v %v", asked, items, err)
	}
}

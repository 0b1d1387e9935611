package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/chromium"
)

// shown are the pages that are looked at in a browser, each with a text that it must have.
var shown = []struct{ path, text string }{
	{"/jobs", "train"}, {"/jobs?user=&state=ended", "done"}, {"/job/1", "Timeline"}, {"/job/2", "Why, when, how much"}, {"/job/4", "COMPLETED"}, {"/job/20", "First tasks that failed"},
	{"/group?name=sweep", "Failed last"}, {"/now", "What is free"}, {"/team", "Spent by day"}, {"/operate", "Nodes that are out"}, {"/operation/1", "settled"}, {"/job/99", "There is no such thing"},
}

// enter signs a user in as a person does: by the address of fed web, and a click.
func (p *house) enter(page *chromium.Page, uid uint32, raise bool) {
	p.t.Helper()
	page.Go(p.url + "/login#" + p.ticket(uid, raise))
	page.Await(`document.getElementById("go").textContent === "Sign in as ` + names[uid] + `"`)
	page.Press("Enter") // the button has the focus
	page.Await(`location.pathname === "/jobs" && document.readyState !== "loading"`)
}

// spotless fails the test for what a page complains of.
func spotless(t *testing.T, what string, page *chromium.Page) {
	t.Helper()
	for _, f := range page.Faults() {
		t.Errorf("%s: %s", what, f)
	}
}

// Every page in Chromium, with JavaScript and without: it shows what it has, complains of nothing, and is no wider than the window, down to 320 pixels,
// dark and light. With FSUB_PICTURES its pictures are written to that folder.
func TestPagesInABrowser(t *testing.T) {
	b := chromium.Start(t)
	p := furnished(t)
	pictures := os.Getenv("FSUB_PICTURES")
	page := b.Open()
	p.enter(page, alice, false)
	spotless(t, "signing in", page)
	for _, scripts := range []bool{true, false} {
		page.Scripts(scripts)
		for _, s := range shown {
			page.Look(1280, 900, false)
			page.Go(p.url + s.path)
			what := s.path
			if !scripts {
				what += " without JavaScript"
			}
			var html string
			page.Eval("document.documentElement.outerHTML", &html)
			if !strings.Contains(html, s.text) {
				t.Errorf("%s lacks %q: %s", what, s.text, page.Text())
			}
			for _, look := range []struct {
				name  string
				width int
				dark  bool
			}{{"light", 1280, false}, {"dark", 1280, true}, {"narrow", 320, false}} {
				page.Look(look.width, 900, look.dark)
				var width int
				page.Eval("document.documentElement.scrollWidth", &width)
				if width > look.width {
					t.Errorf("%s is %d pixels wide in a window of %d", what, width, look.width)
				}
				if pictures != "" && scripts {
					page.Picture(filepath.Join(pictures, strings.NewReplacer("/", "-", "?", "-", "&", "-", "=", "-").Replace(s.path[1:])+"-"+look.name+".png"))
				}
			}
			if faults := page.Faults(); len(faults) > 0 && !(s.path == "/job/99" && strings.Contains(faults[0], "404")) {
				t.Errorf("%s: %s", what, faults)
			}
		}
	}
}

// axe finds nothing on any page, dark and wide, light and narrow.
func TestAccessible(t *testing.T) {
	b := chromium.Start(t)
	axe := chromium.Axe(t)
	p := furnished(t)
	page := b.Open()
	look := func(path string) {
		for _, l := range []struct {
			width int
			dark  bool
		}{{1280, true}, {320, false}} {
			page.Look(l.width, 900, l.dark)
			for _, x := range page.Barriers(axe) {
				t.Errorf("%s, %d pixels, dark %v: %s", path, l.width, l.dark, &x)
			}
		}
	}
	page.Go(p.url + "/login")
	look("/login")
	p.enter(page, olga, true)
	for _, s := range shown {
		page.Go(p.url + s.path)
		look(s.path)
	}
	page.Go(p.url + "/job/1")
	page.Click(`button[value="cancel"]`)
	page.Await(`location.pathname === "/act"`)
	page.Loaded()
	look("/act")
}

// By the keyboard alone a user signs in, filters, opens a job, goes back, chooses it and cancels it. What has the focus can be seen, and is where the page is.
func TestKeyboardAlone(t *testing.T) {
	b := chromium.Start(t)
	p := furnished(t)
	page := b.Open()
	p.enter(page, alice, false)
	until := func(what, condition string) {
		t.Helper()
		for range 80 {
			page.Press("Tab")
			var there, seen bool
			page.Eval(`Boolean(`+condition+`)`, &there)
			page.Eval(`(() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect(); return e === document.body || (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0 && r.width > 0 && r.height > 0 && r.left > -1) })()`, &seen)
			if !seen {
				var html string
				page.Eval("document.activeElement.outerHTML.slice(0, 200)", &html)
				t.Errorf("on the way to %s: what has the focus cannot be seen: %s", what, html)
			}
			if there {
				return
			}
		}
		t.Fatalf("80 times Tab do not lead to %s: %s", what, page.Text())
	}
	const active = "document.activeElement"
	page.Go(p.url + "/jobs")
	until("the link past the head", active+`.className === "skip"`)
	page.Press("Enter")
	page.Await(active + `.id === "main"`)
	until("the filter", active+`.name === "name"`)
	page.Type("tra*")
	page.Press("Enter")
	page.Await(`location.search.includes("name=tra") && document.querySelectorAll("tbody tr").length === 1`)
	until("the job", active+`.matches("tbody a")`)
	page.Press("Enter")
	page.Await(`location.pathname === "/job/1"`)
	page.Eval("void setTimeout(() => history.back())", nil) // the answer comes before the page goes
	page.Await(`location.pathname === "/jobs" && document.readyState === "complete"`)
	until("its box", active+`.type === "checkbox"`)
	page.Press(" ")
	page.Await(active + ".checked")
	until("Cancel", active+`.value === "cancel"`)
	page.Press("Enter")
	page.Await(`document.querySelector("h1").textContent === "Cancel these jobs?"`)
	until("the last word", active+`.matches("form.confirm button")`)
	page.Press("Enter")
	page.Await(`location.pathname.startsWith("/operation/")`)
	spotless(t, "cancelling a job", page)
	ops, err := p.Store.Operations(t.Context(), false, 10)
	if err != nil || len(ops) != 3 || ops[2].Command != "cancel --where id=1" || ops[2].By.User != "alice" {
		t.Errorf("operations: %+v %v", ops, err)
	}
}

// A page that is open follows what happens: cells change in place, rows stay, and new ones wait for a click. While the daemon is away it says so, and it goes on by itself.
func TestLivePage(t *testing.T) {
	b := chromium.Start(t)
	p := furnished(t)
	page := b.Open()
	p.enter(page, alice, false)
	rows := `[...document.querySelectorAll("tbody tr")].map((r) => r.dataset.row).join()`
	var before, after string
	page.Eval(rows, &before)
	j, err := p.Store.Job(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	j.State, j.Site, j.Start, j.Nodes = federation.Running, "alpha", time.Now(), "n1"
	p.commit(&j)
	p.Put(t, jobOf(50, alice, "newer", federation.Pending))
	look := `(document.dispatchEvent(new Event("visibilitychange")), true)` // as if the tab had been hidden: it asks at once
	page.Await(look + ` && document.querySelector('[data-live="2/state"]').textContent === "RUNNING"`)
	page.Await(`document.getElementById("status").textContent.startsWith("1 newer")`)
	if page.Eval(rows, &after); after != before {
		t.Errorf("rows have moved: %s, before: %s", after, before)
	}
	page.Click("#status button")
	page.Await(`document.querySelector('[data-row="50"]')`)
	spotless(t, "while it follows", page)

	p.asked.away.Store(true)
	page.Await(look + ` && document.getElementById("status").textContent.startsWith("The daemon does not answer")`)
	p.asked.away.Store(false)
	page.Await(`document.getElementById("status").textContent === ""`)
	page.Faults() // that requests have failed is in the console
	p.clock.advance(25 * time.Hour)
	page.Await(look + ` && document.getElementById("status").textContent.startsWith("Your session has ended.")`)
}

// A script that somebody gets into a page does not run, and a page of another origin neither shows this one, nor reads it, nor has anything done.
func TestOtherOrigins(t *testing.T) {
	b := chromium.Start(t)
	p := furnished(t)
	page := b.Open()
	p.enter(page, alice, false)
	injected := httptest.NewServer(withHeaders(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><title>quiet</title><link rel=icon href=data:,><p id=x onclick="document.title = 'ran'">x</p><script>document.title = "ran"</script><img src=x onerror="document.title = 'ran'">`))
	})))
	t.Cleanup(injected.Close)
	page.Go(injected.URL)
	page.Click("#x")
	var title, cooked string
	page.Eval("document.title", &title)
	if faults := strings.Join(page.Faults(), " "); title != "quiet" || !strings.Contains(faults, "Content Security Policy") {
		t.Errorf("an injected script: title %q, faults %s", title, faults)
	}
	page.Eval(`(() => { try { document.body.innerHTML = "<b>x</b>"; return "made" } catch (e) { return e.name } })()`, &cooked)
	if cooked != "TypeError" {
		t.Errorf("text becomes markup: %s", cooked)
	}

	var tries strings.Builder
	for _, path := range []string{"/jobs", "/job/1", "/logout", "/act?verb=cancel&job=1&confirmed=yes", "/job/1/log"} {
		tries.WriteString(`<img src="` + p.url + path + `">`)
	}
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><title>evil</title>` + tries.String() + `<iframe src="` + p.url + `/jobs"></iframe>
<form method=post action="` + p.url + `/act"><input name=verb value=cancel><input name=job value=1><input name=confirmed value=yes></form><script>
fetch("` + p.url + `/jobs.json", {credentials: "include"}).then(async (r) => { document.title = "read " + await r.text() }, () => { document.title = "not read" })</script>`))
	}))
	t.Cleanup(evil.Close)
	for _, host := range []string{"127.0.0.1", "localhost"} { // the same site at another port, and another site
		page.Go(strings.Replace(evil.URL, "127.0.0.1", host, 1))
		page.Await(`document.title !== "evil"`)
		var read, framed string
		page.Eval("document.title", &read)
		page.Eval(`(() => { try { return document.querySelector("iframe").contentDocument.body.innerText } catch (e) { return "" } })()`, &framed)
		if read != "not read" || framed != "" {
			t.Errorf("%s: %s; framed: %q", host, read, framed)
		}
		page.Eval(`void setTimeout(() => document.querySelector("form").submit())`, nil)
		page.Await(`location.href.startsWith("` + p.url + `")`)
		page.Loaded()
	}
	if ops, err := p.Store.Operations(t.Context(), false, 10); err != nil || len(ops) != 2 {
		t.Errorf("something was done: %+v %v", ops, err)
	}
	page.Go(p.url + "/jobs") // and she is signed in still
	if !strings.HasSuffix(page.At(), "/jobs") {
		t.Errorf("at %s", page.At())
	}
}

// An address with somebody else's ticket signs nobody in: it names whose it is, and waits for a click.
func TestSomebodyElsesTicket(t *testing.T) {
	b := chromium.Start(t)
	p := furnished(t)
	page := b.Open()
	page.Go(p.url + "/login") // where the address with the ticket is pasted into the same tab
	p.enter(page, alice, false)
	page.Go(p.url + "/login?" + url.Values{"to": {"/jobs"}}.Encode() + "#" + p.ticket(bob, false))
	page.Await(`document.getElementById("go").textContent === "Sign in as bob"`)
	if text := page.Text(); !strings.Contains(text, "alice is signed in at this browser") {
		t.Errorf("the page does not say who is signed in: %s", text)
	}
	if at := page.At(); strings.Contains(at, "bob.") {
		t.Errorf("the ticket stays in the address: %s", at)
	}
	page.Go(p.url + "/jobs")
	page.Await(`document.querySelector(".user").textContent === "alice"`)
	spotless(t, "somebody else's ticket", page)
}

package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fsub/federation/action"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/reasons"
	. "fsub/federation/web/html"
)

// pageRoutes are all pages, and the forms on them.
func (s *server) pageRoutes() {
	s.handle("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.at(r)+"/jobs", http.StatusSeeOther)
	})
	s.route("/jobs", s.jobs)
	s.route("/job/{id}", s.job)
	s.route("/group", s.group)
	s.route("/now", s.now)
	s.route("/team", s.team)
	s.route("/operate", s.operate)
	s.route("/operation/{id}", s.operation)
	s.handle("GET /job/{id}/log", s.log)
	s.handle("POST /act", s.act)
}

// jobFilter is which jobs the page of jobs shows: what its URL says.
type jobFilter struct {
	user, state, site, name string
	id                      string // an array: its tasks
	group                   string
	after, before           string // cursors of pages: the one older than it, or the one newer
}

// states are the choices of the filter, with the states that each means.
var states = []struct{ name, word, where string }{
	{"", "not ended", ""}, {"running", "running", "state=running"}, {"pending", "waiting", "state=pending"}, {"ended", "ended", "state=ended"}, {"failed", "failed", "state=failed,timeout,node_fail,out_of_memory,boot_fail,deadline"},
}

func (s *server) jobFilter(r *http.Request) jobFilter {
	q := r.URL.Query()
	f := jobFilter{user: q.Get("user"), state: q.Get("state"), site: q.Get("site"), name: q.Get("name"), id: q.Get("id"), group: q.Get("group")}
	if !q.Has("user") {
		f.user = s.me(r)
	}
	f.after, f.before = q.Get("after"), q.Get("before")
	return f
}

// where is the filter as conditions of /fed/v1/jobs.
func (f *jobFilter) where() (where []string) {
	add := func(key, value string) {
		if value != "" {
			where = append(where, key+"="+value)
		}
	}
	add("user", f.user)
	for _, s := range states {
		if s.name == f.state && s.where != "" {
			where = append(where, s.where)
		}
	}
	add("site", f.site)
	add("name", f.name)
	add("id", f.id)
	add("group", f.group)
	return where
}

// counted reports whether there are counters of such jobs: not by name or number, and not of those that have ended long ago.
func (f *jobFilter) counted() bool {
	return f.name == "" && f.id == "" && (f.state == "" || f.state == "running" || f.state == "pending")
}

func (f jobFilter) query() string {
	q := url.Values{"user": {f.user}}
	for key, value := range map[string]string{"state": f.state, "site": f.site, "name": f.name, "id": f.id, "group": f.group, "after": f.after, "before": f.before} {
		if value != "" {
			q.Set(key, value)
		}
	}
	return "?" + q.Encode()
}

// onePage is how many jobs one page shows.
const onePage = 100

// jobs is the page of jobs.
func (s *server) jobs(r *http.Request) (*page, error) {
	f := s.jobFilter(r)
	some, err := client.ListPage(r.Context(), s.api, &v1.Jobs, v1.JobQuery{Where: f.where(), Sort: "-id"}, v1.PageQuery{Limit: onePage, After: f.after, Before: f.before})
	if err != nil {
		return nil, err
	}
	shown := some.Items
	var counted Node
	if f.counted() {
		n, err := client.List(r.Context(), s.api, &v1.Summary, v1.SummaryQuery{By: "state", Where: f.where()})
		if err != nil {
			return nil, err
		}
		counted = counts(n)
	}
	command := "fed job list"
	for _, w := range f.where() {
		command += " --where " + quoted(w)
	}
	title := "My jobs"
	switch {
	case f.id != "":
		title = "Tasks of " + f.id
	case f.group != "":
		title = "Jobs of group " + f.group
	case f.user != s.me(r):
		title = "Jobs"
	}
	p := &page{title: title, command: command, data: shown, table: jobRows(shown)}
	p.parts = []Node{s.filterForm(r, &f), counted, s.jobTable(r, shown), s.pager(r, f, some)}
	return p, nil
}

// jobRows are jobs as fed job list prints them.
func jobRows(jobs []v1.JobLine) [][]string {
	rows := [][]string{nil}
	for _, c := range v1.Jobs.Columns {
		rows[0] = append(rows[0], c.Head)
	}
	for i := range jobs {
		var row []string
		for _, c := range v1.Jobs.Columns {
			row = append(row, c.Cell(&jobs[i]))
		}
		rows = append(rows, row)
	}
	return rows
}

// filterForm chooses jobs: it asks for the page with another query.
func (s *server) filterForm(r *http.Request, f *jobFilter) Node {
	choose := E("select", A("name", "state"), A("id", "f-state"))
	for _, st := range states {
		o := E("option", A("value", st.name), st.word)
		if st.name == f.state {
			o.Attrs = append(o.Attrs, A("selected", ""))
		}
		choose.Children = append(choose.Children, o)
	}
	field := func(name, label, value, hint string) Node {
		return E("div", E("label", A("for", "f-"+name), label), E("input", A("id", "f-"+name), A("name", name), A("value", value), A("placeholder", hint), A("size", "12"), A("autocomplete", "off")))
	}
	kept := func(name, value string) Node {
		if value == "" {
			return nil
		}
		return hidden(name, value)
	}
	return E("form", Class("filter"), A("method", "get"), A("action", s.at(r)+"/jobs"), A("role", "search"), A("aria-label", "Choose jobs"),
		E("div", E("label", A("for", "f-state"), "State"), choose),
		field("user", "User", f.user, "all"), field("site", "Site", f.site, "any"), field("name", "Name", f.name, "any, * too"), kept("id", f.id), kept("group", f.group),
		E("button", A("type", "submit"), "Show"))
}

// counts says how many jobs are in which state.
func counts(all []v1.JobCount) Node {
	slices.SortFunc(all, func(a, b v1.JobCount) int { return strings.Compare(string(a.State), string(b.State)) })
	ul := E("ul", Class("counts"), A("aria-label", "Jobs by state"))
	for _, x := range all {
		ul.Children = append(ul.Children, E("li", cell("count/"+string(x.State), "number", strconv.FormatInt(x.Jobs, 10)), " ", strings.ToLower(string(x.State))))
	}
	return ul
}

// jobTable is the table of jobs, with what can be done to those that are ticked.
func (s *server) jobTable(r *http.Request, jobs []v1.JobLine) Node {
	if len(jobs) == 0 {
		return E("p", Class("empty"), "There are no such jobs.")
	}
	head := E("tr", E("th", A("scope", "col"), E("span", Class("unseen"), "Choose")))
	for _, h := range []string{"Job", "Name", "State", "Why", "Site", "Nodes", "Submitted", "Cost"} {
		th := E("th", A("scope", "col"), h)
		if h == "Cost" {
			th.Attrs = append(th.Attrs, Class("n"))
		}
		head.Children = append(head.Children, th)
	}
	body, base, offered := E("tbody"), s.at(r), map[action.Kind]bool{}
	cost := v1.Jobs.Columns[len(v1.Jobs.Columns)-1]
	for i := range jobs {
		j := &jobs[i]
		key := j.Ref()
		if j.Array == j.ID { // its waiting tasks become fewer
			key = j.ID.String()
		}
		choose := E("td")
		if !j.State.Ended() && s.mayAct(r, j.User, j.TreeAccount) {
			offered[action.Hold], offered[action.Move], offered[action.Cancel] = true, true, true
			offered[action.Requeue] = offered[action.Requeue] || j.State.Started()
			offered[action.Release] = offered[action.Release] || j.Reason == reasons.HeldUser || j.Reason == reasons.HeldAdmin && s.raised(r)
			choose.Children = []Node{E("input", A("type", "checkbox"), A("name", "job"), A("value", j.ID.String()), A("aria-label", "Choose job "+j.Ref()))}
		}
		body.Children = append(body.Children, E("tr", A("data-row", key), choose,
			E("th", A("scope", "row"), E("a", A("href", base+"/job/"+j.ID.String()), j.Ref())),
			E("td", Class("name"), A("data-label", "Name"), j.Name),
			E("td", A("data-label", "State"), state(key+"/state", j.State)),
			E("td", A("data-label", "Why"), cell(key+"/why", "", j.Why())),
			E("td", A("data-label", "Site"), cell(key+"/site", "", string(j.Site))),
			E("td", Class("nodes"), A("data-label", "Nodes"), cell(key+"/nodes", "", j.Nodes)),
			E("td", A("data-label", "Submitted"), moment(j.Submit)),
			E("td", Class("n"), A("data-label", "Cost"), cell(key+"/cost", "", cost.Cell(j)))))
	}
	table := scrolled("Jobs", E("table", Class("jobs"), E("caption", Class("unseen"), "Jobs, the newest first"), E("thead", head), body))
	if len(offered) == 0 {
		return table
	}
	return E("form", A("method", "post"), A("action", base+"/act"), table, E("div", Class("verbs"), E("span", "With the chosen:"), verbButtons(func(k action.Kind) bool { return offered[k] })))
}

// verbs are what can be done to jobs, with what a button says.
var verbs = []struct {
	verb action.Kind
	word string
}{{action.Hold, "Hold"}, {action.Release, "Release"}, {action.Requeue, "Requeue"}, {action.Move, "Move"}, {action.Cancel, "Cancel"}}

// verbButtons are the buttons of the verbs that can be done.
func verbButtons(can func(action.Kind) bool) []Node {
	var all []Node
	for _, v := range verbs {
		if !can(v.verb) {
			continue
		}
		b := E("button", A("type", "submit"), A("name", "verb"), A("value", string(v.verb)), v.word)
		if v.verb == "cancel" {
			b.Attrs = append(b.Attrs, Class("danger"))
		}
		all = append(all, b)
	}
	return all
}

// pager leads to the other pages of a list.
func (s *server) pager(r *http.Request, f jobFilter, some *v1.Page[v1.JobLine]) Node {
	nav := E("nav", Class("pager"), A("aria-label", "Parts of the list"))
	link := func(after, before, word string) {
		if after != "" || before != "" {
			to := f
			to.after, to.before = after, before
			nav.Children = append(nav.Children, E("a", A("href", s.at(r)+"/jobs"+to.query()), word))
		}
	}
	link("", some.Prev, "Newer")
	nav.Children = append(nav.Children, E("span", count(len(some.Items), "job")))
	link(some.Next, "", "Older")
	return nav
}

package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/place"
	"fsub/federation/reasons"
	. "fsub/federation/web/html"
	"fsub/sbatch"
)

func idOf(r *http.Request) (federation.JobID, error) {
	n, err := strconv.ParseUint(r.PathValue("id"), 10, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%w: invalid job %q: want a number", federation.ErrInvalid, r.PathValue("id"))
	}
	return federation.JobID(n), nil
}

// job is the page of one job.
func (s *server) job(r *http.Request) (*page, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	rec, err := s.arrays.job(s, r, id)
	if err != nil {
		return nil, err
	}
	j := &rec.Job
	e := new(client.Explanation)
	if !j.State.Ended() {
		if e, err = s.api.Explain(r.Context(), id); err != nil {
			return nil, err
		}
	}
	p := &page{title: titleOf(j), command: "fed job show " + j.ID.String(), data: rec.Wire()}
	if !j.State.Ended() {
		p.command = "fed explain " + j.ID.String()
	}
	p.parts = []Node{
		E("p", Class("lead"), state("state", j.State), " ", E("strong", j.Spec.Name), " of "+j.User+accountText(j), s.partOf(r, j), s.groupLink(r, j.Spec.GroupName())),
		section("Why, when, how much", s.sentences(rec, e), reasonsOf(rec, e)),
		sooner(e),
		timeline(rec, s.Now()),
		s.tasks(r, rec),
		s.used(r, j),
		s.output(r, j),
		s.actions(r, j),
		attempts(rec),
		history(rec),
	}
	p.table = [][]string{{"TIME", "ATTEMPT", "WHAT"}}
	for _, ev := range rec.Events {
		p.table = append(p.table, []string{ev.At.UTC().Format(time.RFC3339), strconv.Itoa(ev.Attempt), ev.Text})
	}
	return p, nil
}

func accountText(j *federation.Job) string {
	if j.Account == "" {
		return ""
	}
	return ", account " + j.Account
}

// they is "1 runs", "3 run".
func they(n int, verb string) string {
	if n == 1 {
		verb += "s"
	}
	return strconv.Itoa(n) + " " + verb
}

// sentences say why a job is where it is, when it starts or ends, and what it costs.
func (s *server) sentences(rec *client.JobRecord, e *client.Explanation) Node {
	j := &rec.Job
	ul := E("ul", Class("sentences"))
	say := func(name string, parts ...any) {
		ul.Children = append(ul.Children, E("li", append([]any{A("data-said", name)}, parts...)...))
	}
	switch {
	case j.Whole != nil && !j.State.Ended() && j.Site == "":
		n := taskCounts(rec)
		say("why", fmt.Sprintf("Of its %s %s in the federation's queue%s, %s.", count(j.Whole.Count, "task"), they(n[federation.Pending], "wait"), reasonText(j), they(n[federation.Running], "run")))
	case j.State == federation.Pending && j.Site == "":
		say("why", "It waits in the federation's queue"+reasonText(j)+".")
	case j.State == federation.Pending:
		say("why", "It waits at "+string(j.Site)+reasonText(j)+".")
	case j.State.Ended():
		say("why", "It ended ", moment(j.End), " as "+string(j.State)+reasonText(j)+fmt.Sprintf(", exit code %d:%d.", j.ExitStatus>>8, j.ExitStatus&0x7f))
	default:
		say("why", "It runs at "+string(j.Site)+" on "+orDash(j.Nodes)+".")
	}
	for _, w := range e.Waits {
		parts := []any{w.Why.Text()}
		if !w.Since.IsZero() {
			parts = append(parts, " since ", moment(w.Since))
		}
		if !w.Until.IsZero() {
			parts = append(parts, ", until ", moment(w.Until))
		}
		for _, a := range w.Advice {
			parts = append(parts, "; "+a.Text())
		}
		say("wait", parts...)
	}
	for _, h := range e.Holdbacks {
		say("holdback", written(h.Text))
	}
	if st := e.Start; st != nil {
		parts := []any{"It is expected to start ", moment(st.At)}
		if !st.Within.IsZero() {
			parts = append(parts, ", in nine of ten cases by ", moment(st.Within))
		}
		parts = append(parts, " at "+string(st.Site)+" for "+dollars(st.Price)+", "+st.Of)
		if st.Unsure != "" {
			parts = append(parts, "; unsure: "+st.Unsure)
		}
		say("when", append(parts, ".")...)
	}
	if !j.Start.IsZero() {
		say("when", "It started ", moment(j.Start), ", "+v1.Age(j.Start.Sub(j.Submit))+" after it was submitted.")
		if limit := j.Needs().TimeLimit; !j.State.Ended() && limit > 0 && limit != sbatch.Unlimited {
			say("when", "Its time limit ends ", moment(j.Start.Add(limit)), ".")
		}
	}
	switch {
	case rec.Spending != nil:
		say("cost", "It has cost ", cell("cost", "", rec.Spending.Text()), ", "+rec.Spending.PerHour.Rate()+" an hour.")
	case j.State.Ended() || j.Cost > 0:
		say("cost", "It has cost "+j.Cost.USD()+".")
	case len(e.Decision.Offers) > 0 && e.Decision.Offers[0].Most > 0:
		say("cost", "It costs "+dollars(e.Decision.Offers[0].Most)+" at most: as long as its time limit.")
	}
	return ul
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func reasonText(j *federation.Job) string {
	if j.Reason == "" || j.Reason == reasons.None {
		return ""
	}
	return " (" + string(j.Reason) + ")"
}

// reasonsOf is what each site would have cost, and why it could not run there.
func reasonsOf(rec *client.JobRecord, e *client.Explanation) Node {
	if rec.Job.State.Ended() {
		return nil
	}
	return E("details", E("summary", "Each site's price, or why it cannot run there"), E("pre", A("tabindex", "0"), Pre(place.Summarize(&e.Job, &e.Explained, time.UTC))))
}

// sooner is what would have a job that waits start sooner.
func sooner(e *client.Explanation) Node {
	if len(e.Sooner) == 0 {
		return nil
	}
	rows := [][]string{{"CHANGE", "SITE", "STARTS", "PRICE", "MORE"}}
	for _, x := range e.Sooner {
		more := ""
		if x.More != 0 {
			more = dollars(x.More)
		}
		rows = append(rows, []string{x.Change, string(x.Site), x.Start.UTC().Format(time.RFC3339), dollars(x.Price), more})
	}
	return section("What would start it sooner", textTable("Changes", rows))
}

// output is the end of what a job has written, which app.js follows.
func (s *server) output(r *http.Request, j *federation.Job) Node {
	if j.Whole != nil || !s.owns(r, j.User) {
		return nil
	}
	follow := s.at(r) + "/job/" + j.ID.String() + "/log"
	return section("Output",
		E("pre", A("id", "log"), A("tabindex", "0"), A("role", "log"), A("aria-label", "Output"), A("data-log", follow), ""),
		E("p", Class("hint"), E("a", A("href", follow), "The whole output"), " or by command: ", E("code", "fed logs -f "+j.ID.String())))
}

// actions are the forms of what can be done to a job by who asks.
func (s *server) actions(r *http.Request, j *federation.Job) Node {
	if j.State.Ended() || !s.mayAct(r, j.User, j.TreeAccount) {
		return nil
	}
	buttons := verbButtons(func(verb action.Kind) bool { return fits(verb, j, s.raised(r)) })
	if len(buttons) == 0 {
		return nil
	}
	var whole Node
	if j.Whole != nil {
		whole = hidden("whole", "yes")
	}
	return section("Do", E("form", Class("verbs"), A("method", "post"), A("action", s.at(r)+"/act"),
		hidden("job", j.ID.String()), whole, buttons))
}

// fits reports whether a verb has a meaning for a job that has not ended: the API refuses the others, or has nothing to do.
func fits(verb action.Kind, j *federation.Job, operator bool) bool {
	again := j.Spec.Requeue == nil || *j.Spec.Requeue
	switch {
	case j.Cancel:
		return verb == action.Cancel && operator // which ends a job whose site has left
	case verb == action.Hold:
		return j.Held == federation.NotHeld
	case verb == action.Release:
		return j.Held != federation.NotHeld && (operator || j.Held != federation.HeldAdmin)
	case verb == action.Requeue:
		return j.State != federation.Pending && j.State != federation.Completing && again
	case verb == action.Move:
		return again || !j.State.Started()
	}
	return true
}

func attempts(rec *client.JobRecord) Node {
	if len(rec.Attempts) == 0 {
		return nil
	}
	rows := [][]string{{"ATTEMPT", "SITE", "PARTITION", "STATE", "NODES", "STARTED", "ENDED", "COST", "NOTE"}}
	for i := range rec.Attempts {
		a := &rec.Attempts[i]
		st := string(a.State)
		if a.Final != "" {
			st = string(a.Final)
		}
		note := a.Note
		if a.Class != "" {
			note = strings.TrimPrefix(note+"; failure of "+string(a.Class), "; ")
		}
		rows = append(rows, []string{strconv.Itoa(a.Number), string(a.Site), a.Partition, st, a.Nodes, stamp(a.Started), stamp(a.Ended), a.Cost.USD(), note})
	}
	return section("Attempts", textTable("Attempts", rows))
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func history(rec *client.JobRecord) Node {
	if len(rec.Events) == 0 {
		return nil
	}
	ol := E("ol", Class("history"))
	for i, e := range rec.Events {
		ol.Children = append(ol.Children, E("li", A("data-row", "history/"+strconv.Itoa(i)), moment(e.At), " ", E("span", e.Text)))
	}
	return section("History", ol)
}

package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/action"
	v1 "fsub/federation/api/v1"
	. "fsub/federation/web/html"
)

func itoa(n int) string { return strconv.Itoa(n) }

// hidden is what a form sends along.
func hidden(name, value string) Node {
	return E("input", A("type", "hidden"), A("name", name), A("value", value))
}

// more says how many are not shown.
func more(n int, word string) Node {
	if n <= 0 {
		return nil
	}
	return E("p", Class("hint"), "And "+count(n, word)+" more.")
}

// mostChosen is how many jobs a form may name, and how many are listed: one page has no more.
const mostChosen = 200

// act shows what would be done to the jobs that a form names, and does it when that is confirmed. The page then is that of the operation.
func (s *server) act(w http.ResponseWriter, r *http.Request) {
	q, err := operationOf(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	q.Preview = r.PostFormValue("confirmed") == ""
	o, err := s.api.Operate(r.Context(), q)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if o.ID != 0 {
		http.Redirect(w, r, s.at(r)+"/operation/"+o.ID.String(), http.StatusSeeOther)
		return
	}
	s.preview(w, r, q, o)
}

// operationOf reads the form.
func operationOf(r *http.Request) (q v1.NewOperation, err error) {
	if err := r.ParseForm(); err != nil {
		return q, fmt.Errorf("%w: %w", federation.ErrInvalid, err)
	}
	known := false
	for _, v := range verbs {
		known = known || string(v.verb) == r.PostForm.Get("verb")
	}
	jobs, whole := r.PostForm["job"], r.PostForm.Get("whole") != ""
	switch {
	case !known:
		return q, fmt.Errorf("%w: the form does not say what is to be done", federation.ErrInvalid)
	case len(jobs) == 0:
		return q, fmt.Errorf("%w: no job was chosen: go back and tick some", federation.ErrInvalid)
	case len(jobs) > mostChosen:
		return q, fmt.Errorf("%w: %d jobs were chosen, at most %d can be; for more: fed job", federation.ErrInvalid, len(jobs), mostChosen)
	}
	for _, text := range jobs {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n == 0 {
			return q, fmt.Errorf("%w: invalid job %q", federation.ErrInvalid, text)
		}
		q.Jobs = append(q.Jobs, federation.JobID(n))
	}
	if whole { // an array's tasks that have started, too
		q.Jobs = nil
	}
	q.Verb = action.Kind(r.PostForm.Get("verb"))
	q.Where = []string{"id=" + strings.Join(jobs, ",")}
	if to := r.PostForm.Get("to"); to != "" {
		q.To = []federation.SiteName{federation.SiteName(to)}
	}
	q.Why = r.PostForm.Get("why")
	return q, nil
}

// preview shows to which jobs something would be done, and to which not, and asks.
func (s *server) preview(w http.ResponseWriter, r *http.Request, q v1.NewOperation, o *v1.Operation) {
	rows := [][]string{{"JOB", "NAME", "USER", "STATE", "SITE", "NOTE"}}
	form := E("form", A("method", "post"), A("action", s.at(r)+"/act"), A("class", "confirm"),
		hidden("confirmed", "yes"),
		hidden("verb", string(q.Verb)))
	n := 0
	for i, x := range o.Items {
		if i < mostChosen {
			rows = append(rows, []string{x.Job, x.Name, x.User, string(x.State), string(x.Site), x.Note})
		}
		if x.Settled > 0 {
			continue
		}
		n++
		if q.Jobs != nil {
			form.Children = append(form.Children, hidden("job", x.ID.String()))
		}
	}
	if q.Jobs == nil {
		form.Children = append(form.Children, hidden("whole", "yes"), hidden("job", r.PostForm.Get("job")))
	}
	if q.Verb == action.Move {
		form.Children = append(form.Children, E("p", E("label", A("for", "to"), "To site (empty: away from where it is) "), E("input", A("id", "to"), A("name", "to"), A("size", "12"))))
	}
	form.Children = append(form.Children, E("p", E("label", A("for", "why"), "Why (for the record) "), E("input", A("id", "why"), A("name", "why"), A("size", "30"), A("maxlength", "500"))))
	verb := string(q.Verb)
	button := E("button", A("type", "submit"), strings.ToUpper(verb[:1])+verb[1:]+" "+count(n, "job"))
	if q.Verb == action.Cancel {
		button.Attrs = append(button.Attrs, Class("danger"))
	}
	back := E("a", A("href", s.at(r)+"/jobs"), "No, leave them")
	form.Children = append(form.Children, E("p", button, " ", back))
	p := &page{title: strings.ToUpper(verb[:1]) + verb[1:] + " these jobs?", still: true, command: "fed job " + verb + " " + quoted(strings.TrimPrefix(q.Where[0], "id=")), parts: []Node{textTable("Jobs", rows), more(len(o.Items)-mostChosen, "job"), form}}
	if n == 0 {
		p.title, p.command = "This cannot be done", ""
		p.parts = []Node{E("p", "None of the jobs is in a state in which this can be done, or you may not do it."), textTable("Jobs", rows), more(len(o.Items)-mostChosen, "job"), E("p", E("a", A("href", s.at(r)+"/jobs"), "Back"))}
	}
	s.write(w, r, http.StatusOK, p.title, s.framed(r, p), "app.js")
}

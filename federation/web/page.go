package web

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"fsub/federation"
	"fsub/federation/api/identity"
	. "fsub/federation/web/html"
)

// page is one page, before it is HTML, JSON or CSV.
type page struct {
	title   string
	command string // that says the same; "": there is none
	parts   []Node
	data    any        // for .json
	table   [][]string // for .csv, the head first; nil: there is none
	still   bool       // it does not change: nothing asks for it again
}

// maker makes a page of a request.
type maker func(r *http.Request) (*page, error)

// route adds a page, as HTML, as data, and as what app.js asks for again and again.
func (s *server) route(path string, make maker) {
	s.handle("GET "+path, func(w http.ResponseWriter, r *http.Request) { s.show(w, r, path, make, "") })
	for _, form := range []string{".json", ".csv", ".live"} {
		s.handle("GET "+formPath(path, form), func(w http.ResponseWriter, r *http.Request) { s.show(w, r, path, make, form) })
	}
}

// formPath is where a page is in another form: /jobs.json, /job/1/json of a page that a number names.
func formPath(path, form string) string {
	if strings.HasSuffix(path, "}") {
		return path + "/" + form[1:]
	}
	return path + form
}

func (s *server) show(w http.ResponseWriter, r *http.Request, path string, make maker, form string) {
	if form == ".live" {
		s.lives.show(s, w, r, make)
		return
	}
	p, err := make(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var body []byte
	switch form {
	case ".json":
		w.Header().Set("Content-Type", "application/json")
		body, err = json.MarshalIndent(p.data, "", "  ")
	case ".csv":
		if p.table == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		body, err = asCSV(p.table)
	default:
		body = s.document(r, p.title, s.framed(r, p), "app.js")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	tagged(w, r, body)
}

// lives are what may have changed of pages. Whoever has one open more than once, or asks again at once, is told the same.
type lives struct{ shelf[[]byte] }

func (l *lives) show(s *server, w http.ResponseWriter, r *http.Request, make maker) {
	body, err := l.of(viewerOf(s, r, r.URL.RequestURI())).get(s.Now, seenLife, func() ([]byte, error) {
		p, err := make(r)
		if err != nil {
			return nil, err
		}
		return json.Marshal(liveOf(p))
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	tagged(w, r, body)
}

// tagged is an answer that a browser need not read again while it stays the same.
func tagged(w http.ResponseWriter, r *http.Request, body []byte) {
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "private, no-cache")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(body)
}

// asCSV writes cells so that no spreadsheet takes one for a formula.
func asCSV(rows [][]string) ([]byte, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	for _, row := range rows {
		safe := make([]string, len(row))
		for i, cell := range row {
			safe[i] = Shown(cell)
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				safe[i] = "'" + safe[i]
			}
		}
		if err := w.Write(safe); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return []byte(b.String()), w.Error()
}

// live is what may have changed of a page: the texts and classes of its cells by their names, and the rows of its tables in their order.
type live struct {
	Cells map[string][2]string `json:"cells"`
	Rows  []string             `json:"rows"`
}

func liveOf(p *page) live {
	l := live{Cells: map[string][2]string{}, Rows: []string{}}
	for _, n := range p.parts {
		e, ok := n.(*Element)
		if !ok || e == nil {
			continue
		}
		Walk(e, func(e *Element) {
			if name := e.Attr("data-live"); name != "" {
				l.Cells[name] = [2]string{Text(e), e.Attr("class")}
			}
			if row := e.Attr("data-row"); row != "" {
				l.Rows = append(l.Rows, row)
			}
		})
	}
	return l
}

// tabs are the pages of the first row, in their order.
var tabs = []struct{ path, name string }{{"/jobs", "My jobs"}, {"/now", "Now"}, {"/team", "Team"}, {"/operate", "Operate"}}

// framed is a page with what is around it.
func (s *server) framed(r *http.Request, p *page) []Node {
	base := s.at(r)
	nav := E("nav", A("aria-label", "Pages"))
	for _, t := range tabs {
		a := E("a", A("href", base+t.path), t.name)
		if strings.HasPrefix(r.URL.Path, t.path) || t.path == "/jobs" && (strings.HasPrefix(r.URL.Path, "/job/") || strings.HasPrefix(r.URL.Path, "/group")) {
			a.Attrs = append(a.Attrs, A("aria-current", "page"))
		}
		nav.Children = append(nav.Children, a)
	}
	main := E("main", A("id", "main"), A("tabindex", "-1"), E("div", Class("head"), E("h1", p.title), s.forms(r, p)), p.parts)
	if p.command != "" {
		main.Children = append(main.Children, E("p", Class("command"), "The same by command: ", E("code", p.command)))
	}
	if !p.still {
		main.Attrs = append(main.Attrs, A("data-refresh", base+formPath(r.URL.Path, ".live")+query(r)))
		if strings.HasPrefix(r.URL.Path, "/job/") || strings.HasPrefix(r.URL.Path, "/operation/") {
			main.Attrs[len(main.Attrs)-1] = A("data-refresh", base+r.URL.Path+"/live"+query(r))
		}
	}
	return []Node{
		E("a", Class("skip"), A("href", "#main"), "Skip to the page"),
		E("header", E("a", Class("name"), A("href", base+"/jobs"), s.Federation), nav, s.who(r)),
		E("div", A("id", "status"), A("role", "status"), A("aria-live", "polite")),
		main,
		E("footer", "fsub ", s.Version, E("span", A("id", "asof"))),
	}
}

func query(r *http.Request) string {
	if r.URL.RawQuery == "" {
		return ""
	}
	return "?" + r.URL.RawQuery
}

// forms link to the page as data.
func (s *server) forms(r *http.Request, p *page) Node {
	if p.data == nil {
		return E("span")
	}
	form := func(name string) *Element {
		path := formPath(r.URL.Path, "."+name)
		if strings.HasPrefix(r.URL.Path, "/job/") || strings.HasPrefix(r.URL.Path, "/operation/") {
			path = r.URL.Path + "/" + name
		}
		return E("a", A("href", s.at(r)+path+query(r)), strings.ToUpper(name))
	}
	out := E("span", Class("forms"), form("json"))
	if p.table != nil {
		out = E("span", Class("forms"), form("json"), " ", form("csv"))
	}
	return out
}

// who says who has signed in, and lets him sign out.
func (s *server) who(r *http.Request) Node {
	session := sessionOf(r)
	if session == nil {
		return E("span")
	}
	name := E("span", Class("user"), session.User)
	if s.raised(r) {
		name = E("span", Class("user raised"), session.User+", operator until ", Time(*session.Raised, "15:04"))
	}
	return E("form", Class("who"), A("method", "post"), A("action", "/logout"), name, E("button", A("type", "submit"), "Sign out"))
}

// document is a whole page.
func (s *server) document(r *http.Request, title string, body []Node, script string) []byte {
	base := s.at(r)
	return Page(E("html", A("lang", "en"),
		E("head",
			E("meta", A("charset", "utf-8")),
			E("meta", A("name", "viewport"), A("content", "width=device-width, initial-scale=1")),
			E("meta", A("name", "color-scheme"), A("content", "light dark")),
			E("title", title+" - "+s.Federation),
			E("link", A("rel", "icon"), Attr{Name: "href", Value: "data:,"}),
			E("link", A("rel", "stylesheet"), A("href", base+assetPath("style.css"))),
			E("script", A("type", "module"), A("src", base+assetPath(script)))),
		E("body", body)))
}

func (s *server) write(w http.ResponseWriter, r *http.Request, status int, title string, body []Node, script string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(s.document(r, title, body, script))
}

// at is what stands before the path of each page: on the socket, where what passes requests on has it.
func (s *server) at(r *http.Request) string {
	if s.base == "" {
		return ""
	}
	p := r.Header.Get("X-Forwarded-Prefix")
	if u, err := url.Parse(p); p == "" || err != nil || u.Path != p || !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") || strings.Contains(p, `\`) {
		return s.base
	}
	return strings.TrimSuffix(p, "/")
}

// fail says why there is no page.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, title := http.StatusServiceUnavailable, "The daemon does not answer"
	switch {
	case errors.Is(err, federation.ErrNotFound):
		status, title = http.StatusNotFound, "There is no such thing"
	case errors.Is(err, federation.ErrDenied):
		status, title = http.StatusForbidden, "You may not see this"
	case errors.Is(err, federation.ErrInvalid):
		status, title = http.StatusBadRequest, "The question was not understood"
	case errors.Is(err, federation.ErrConflict):
		status, title = http.StatusConflict, "This has changed meanwhile"
	}
	var refusal *federation.SlurmError
	text := err.Error()
	if errors.As(err, &refusal) && refusal.Detail != "" {
		text = refusal.Detail
	}
	p := &page{title: title, still: true, parts: []Node{E("p", text), E("p", E("a", A("href", s.at(r)+"/jobs"), "To your jobs"))}}
	body := s.framed(r, p)
	if _, known := identity.Browser(r.Context()); !known {
		body = []Node{E("main", A("id", "main"), E("h1", title), E("p", text))}
	}
	s.write(w, r, status, title, body, "app.js")
}

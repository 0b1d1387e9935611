package web

import (
	"os/user"
	"strconv"
	"strings"
	"time"

	"net/http"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/decision"
	. "fsub/federation/web/html"
)

// Time is a moment: in UTC, which app.js turns into the reader's own zone.
func Time(t time.Time, layout string) Node {
	if t.IsZero() {
		return E("span", Class("none"), "-")
	}
	zone := ""
	if layout != "15:04" {
		zone = " UTC"
	}
	return E("time", A("datetime", t.UTC().Format(time.RFC3339)), t.UTC().Format(layout)+zone)
}

// moment is a time of a day that may not be today's.
func moment(t time.Time) Node { return Time(t, "2006-01-02 15:04") }

// cell is a text that the page keeps up to date under a name.
func cell(name, class, text string) Node {
	if text == "" {
		text = "-"
	}
	return E("span", A("data-live", name), Class(class), text)
}

// state is a job's state: a word, with a mark before it that has a colour.
func state(name string, s federation.State) Node {
	return cell(name, "state "+stateClass(s), string(s))
}

func stateClass(s federation.State) string {
	switch {
	case s == federation.Pending:
		return "waits"
	case s == federation.Completed:
		return "good"
	case s == federation.Cancelled:
		return "ended"
	case s.Ended():
		return "bad"
	}
	return "runs"
}

func dollars(d decision.Dollars) string { return accounting.MoneyOf(float64(d)).USD() }

// me is the name of who asks.
func (s *server) me(r *http.Request) string {
	if session := sessionOf(r); session != nil {
		return session.User
	}
	if name, named := r.Context().Value(nameKey{}).(string); named {
		return name
	}
	uid, _ := identity.Browser(r.Context())
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// raised reports whether who asks has an operator's rights now.
func (s *server) raised(r *http.Request) bool {
	session := sessionOf(r)
	return session != nil && session.Raised != nil && s.Now().Before(*session.Raised)
}

// owns reports whether the jobs of a user are those of who asks, or an operator does.
func (s *server) owns(r *http.Request, user string) bool { return user == s.me(r) || s.raised(r) }

// mayAct reports whether who asks may act on the jobs that a user has submitted under an account of the tree. Nothing is offered that the API would refuse.
func (s *server) mayAct(r *http.Request, user, treeAccount string) bool {
	return s.owns(r, user) || treeAccount != "" && s.leads.all(s, r)[treeAccount]
}

// count is "1 job", "3 jobs".
func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}

// quoted is a word of a command as a shell takes it.
func quoted(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-=.,:/@%+", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

package web

import (
	"net/http"

	. "fsub/federation/web/html"
)

// loginPage is where users sign in: by the ticket in the fragment of the address, which login.js reads and the server never sees before the click; or by pasting it; or at the OpenID provider.
func (g *gate) loginPage(w http.ResponseWriter, r *http.Request, status int, refused string) {
	var who, warning Node
	if s := sessionOf(r); s != nil {
		who = E("p", Class("note"), E("strong", s.User), " is signed in at this browser. Signing in again ends that session. ", E("a", A("href", "/jobs"), "Go on as "+s.User))
	}
	if refused != "" {
		warning = E("p", Class("refused"), A("role", "alert"), refused)
	}
	form := E("form", A("method", "post"), A("action", "/login"), A("id", "login"), A("autocomplete", "off"),
		E("input", A("type", "hidden"), A("name", "to"), A("value", localAddress(r.FormValue("to")))),
		E("div", A("id", "paste"),
			E("label", A("for", "ticket"), "Ticket, or the whole address that ", E("code", "fed web"), " has printed"),
			E("input", A("id", "ticket"), A("name", "ticket"), A("type", "text"), A("required", ""), A("spellcheck", "false"), A("autocapitalize", "none"))),
		E("button", A("type", "submit"), A("id", "go"), "Sign in"))
	g.write(w, r, status, "Sign in", []Node{
		E("main", Class("login"), A("id", "main"), A("tabindex", "-1"),
			E("h1", "Sign in to ", g.Federation),
			who, warning, g.byProvider(localAddress(r.FormValue("to"))),
			E("p", A("id", "ask"), A("data-host", r.Host), A("hidden", "")),
			form,
			E("p", Class("hint"), "For a ticket run ", E("code", "fed web"), " on a machine where you run ", E("code", "fsub"), ". It is good for a minute, once. There is no password."),
		),
	}, "login.js")
}

package v1

import "time"

// NewTicket asks for a ticket, by which the caller signs in at a browser.
type NewTicket struct {
	Operator bool `json:"operator,omitempty"` // the session is to have the caller's rights as operator for 15 minutes
}

// Ticket signs its user in at a browser, once.
type Ticket struct {
	Ticket  string    `json:"ticket"`
	Until   time.Time `json:"until"`
	Address string    `json:"address,omitempty"` // of the page: https://HOST:PORT
}

// NewSession exchanges a ticket, or an ID token, for a session. Secrets are known to the browser alone: their SHA-256 is sent, in hexadecimal digits.
type NewSession struct {
	Ticket  string `json:"ticket,omitempty"`  // of the ticket's secret
	Until   int64  `json:"until,omitempty"`   // until when the ticket is good, seconds since 1970
	Seal    []byte `json:"seal,omitempty"`    // what proves that a daemon has made the ticket: the last 22 characters of its text
	IDToken string `json:"idToken,omitempty"` // instead of a ticket: that of the OpenID provider for this sign-in
	Nonce   string `json:"nonce,omitempty"`   // which it has
	Session string `json:"session"`           // of the session's
	Browser string `json:"browser,omitempty"` // what it says it is
}

// WebSession is a browser at which a user has signed in.
type WebSession struct {
	ID      string     `json:"id"`
	User    string     `json:"user"`
	Browser string     `json:"browser,omitempty"`
	Since   time.Time  `json:"since"`
	Used    time.Time  `json:"used"`               // to within some minutes
	Until   time.Time  `json:"until"`              // it ends then, or earlier if it is not used
	Raised  *time.Time `json:"operator,omitempty"` // it has its user's rights as operator until then
}

// WebSessions are the sessions of browsers.
var WebSessions = Noun[WebSession, None]{
	Key:  func(x *WebSession) string { return key(x.ID) },
	Path: "/fed/v1/web/sessions", Who: ForAnybody, Doc: "The browsers at which the caller has signed in; all for operators",
	Columns: []Column[WebSession]{
		{"ID", func(x *WebSession) string { return x.ID }},
		{"USER", func(x *WebSession) string { return x.User }},
		{"SINCE", func(x *WebSession) string { return moment(x.Since) }},
		{"USED", func(x *WebSession) string { return since(x.Used) }},
		{"UNTIL", func(x *WebSession) string { return moment(x.Until) }},
		{"OPERATOR", func(x *WebSession) string { return x.operator() }},
		{"BROWSER", func(x *WebSession) string { return oneLine(x.Browser) }},
	},
	Empty: "No browser is signed in. To sign in: fed web",
}

func (w *WebSession) operator() string {
	if w.Raised == nil || !time.Now().Before(*w.Raised) {
		return ""
	}
	return "until " + moment(*w.Raised)
}

// Ended is how many sessions were ended.
type Ended struct {
	Sessions int `json:"sessions"`
}

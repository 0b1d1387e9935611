package v1

import (
	"strings"
	"time"
)

// Token identifies its user on other machines. When one is created, Scope and Lifetime are looked at, beside the name.
type Token struct {
	User     string    `json:"user"` // whose it is
	Name     string    `json:"name"`
	Scope    string    `json:"scope" flag:"scope" default:"submit" usage:"read: look only; submit: also submit jobs, and act on your own; operate: what you may as an operator"`
	Lifetime string    `json:"lifetime,omitempty" flag:"lifetime" default:"30d" usage:"hours, days or weeks: 12h, 30d, 8w; a year at most"`
	Created  time.Time `json:"created,omitzero"`
	Expires  time.Time `json:"expires,omitzero"`
	// Token is the token itself, in the answer to its creation only.
	Token string `json:"token,omitempty"`
	// Server is where other machines reach the daemon, likewise: HOST:PORT#FINGERPRINT, several with commas.
	Server string `json:"server,omitempty"`
}

// Tokens are those of the caller; an operator sees all.
var Tokens = Owned[Token]{
	Noun: Noun[Token, None]{
		Key:  func(x *Token) string { return key(x.User, x.Name) },
		Path: "/fed/v1/tokens", Who: ForAnybody, Doc: "Tokens that identify users on other machines; a user's own, an operator all",
		Empty: "there are no tokens; see: fed token create --help",
		Columns: []Column[Token]{
			{"NAME", func(x *Token) string { return x.Name }},
			{"USER", func(x *Token) string { return x.User }},
			{"SCOPE", func(x *Token) string { return x.Scope }},
			{"CREATED", func(x *Token) string { return moment(x.Created) }},
			{"EXPIRES", func(x *Token) string { return moment(x.Expires) }},
			{"STATE", func(x *Token) string { return x.state() }},
		},
		More: []Column[Token]{
			{"SERVER", func(x *Token) string { return x.Server }},
			{"TOKEN, SHOWN ONCE", func(x *Token) string { return x.Token }},
		},
	},
	Word: "token", Add: "create", Drop: "revoke", Most: 20,
	Key:   func(x *Token) (user, name *string) { return &x.User, &x.Name },
	About: func(x *Token) string { return "scope " + x.Scope + ", lifetime " + x.Lifetime },
}

func (x *Token) state() string {
	if time.Now().Before(x.Expires) {
		return "valid"
	}
	return "expired"
}

// Caller is who the daemon takes the sender of a request for.
type Caller struct {
	User string `json:"user"`
	UID  uint32 `json:"uid"`
	Role string `json:"role"` // None, Operator, Administrator
	From string `json:"from"` // how that is known: socket, TLS (a job's token), or "token NAME"
	// Scope of the token; "" if there is none.
	Scope   string    `json:"scope,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // of the token
}

// LoginServer is a value of FSUB_SOCKET in the words of fsub login --server.
func LoginServer(addresses string) string { return strings.ReplaceAll(addresses, "tls://", "") }

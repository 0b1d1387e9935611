package api

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/identity/oidc"
	v1 "fsub/federation/api/v1"
	"fsub/federation/records"
	"fsub/federation/share"
)

// SignIn is what those get who sign in at a terminal by the OpenID provider.
type SignIn struct {
	Scope    identity.Scope // of their tokens, at most; "": submit
	Lifetime time.Duration  // of the tokens; 0: seven days
}

// logins sign users in at terminals of other machines. What has begun is with the provider and the one who signs in: any of several daemons goes on with it.
type logins struct {
	tokens   *tokens
	who      *identity.Identity
	provider *oidc.Verifier // nil: there is none
	SignIn
}

func newLogins(c *Config, who *identity.Identity, t *tokens) *logins {
	l := &logins{tokens: t, who: who, provider: c.Provider, SignIn: c.SignIn}
	if l.Scope == "" {
		l.Scope = identity.ScopeSubmit
	}
	if l.Lifetime == 0 {
		l.Lifetime = 7 * 24 * time.Hour
	}
	return l
}

// mostSecret bounds the secret of a sign-in: providers have some hundred bytes.
const mostSecret = 4 << 10

func (l *logins) routes(t *table) {
	do(t, "POST", "/fed/v1/login", v1.ForStrangers, "Begin to sign in at a terminal, by the OpenID provider", l.begin)
	postLarge(t, 2*mostSecret, "/fed/v1/login/token", v1.ForStrangers, "Ask whether the user has confirmed the code, and for a token if so", l.poll)
}

func (l *logins) begin(r *http.Request, _ identity.Caller) (out v1.Login, err error) {
	if l.provider == nil || l.tokens.makes == nil {
		return out, refuseOwned(federation.ErrNotFound, "this daemon has no OpenID provider: give a token to fsub login instead, which fed token create NAME prints on the daemon's machine")
	}
	again := share.Idle(r.Context())
	d, err := l.provider.Begin(r.Context())
	again()
	return v1.Login{Secret: d.Secret, Code: d.Code, Page: d.Page, Direct: d.Direct, Expires: d.Expires, Interval: d.Interval}, ofProvider(err)
}

// ofProvider words an error of the provider: one that does not answer may be asked again.
func ofProvider(err error) error {
	kind := federation.ErrDenied
	if errors.As(err, new(*oidc.SilentError)) {
		kind = federation.ErrUnavailable
	}
	if err == nil {
		return nil
	}
	return refuseOwned(kind, "%v", err)
}

func (l *logins) poll(r *http.Request, _ identity.Caller, in *v1.LoginPoll) (out v1.LoginState, err error) {
	scope := identity.Scope(in.Scope)
	if scope == "" {
		scope = l.Scope
	}
	// What is wrong is said before the sign-in is completed, for it is once only.
	all := []identity.Scope{identity.ScopeRead, identity.ScopeSubmit, identity.ScopeOperate}
	switch asked := slices.Index(all, scope); {
	case l.provider == nil || l.tokens.makes == nil:
		return out, refuseOwned(federation.ErrNotFound, "this daemon has no OpenID provider")
	case asked < 0:
		return out, refuseOwned(federation.ErrInvalid, "invalid scope %.64q: want read, submit or operate", in.Scope)
	case asked > slices.Index(all, l.Scope):
		return out, refuseOwned(federation.ErrDenied, "invalid scope %s: who signs in by the OpenID provider gets %s at most", scope, l.Scope)
	case in.Secret == "" || len(in.Secret) > mostSecret:
		return out, answer.BadBody("secret is that of a sign-in which POST /fed/v1/login has begun")
	}
	if err := records.CheckName(in.Name); err != nil {
		return out, refuseOwned(federation.ErrInvalid, "%v", err)
	}
	again := share.Idle(r.Context())
	u, err := l.provider.Poll(r.Context(), in.Secret)
	again()
	switch {
	case errors.Is(err, oidc.ErrPending), errors.Is(err, oidc.ErrSlowDown):
		return v1.LoginState{Slower: errors.Is(err, oidc.ErrSlowDown)}, nil
	case err != nil:
		return out, ofProvider(err)
	}
	c, err := l.who.SignedIn(u)
	if err != nil {
		return out, err
	}
	if known, err := l.who.User(c.UID); scope == identity.ScopeOperate && (err != nil || known.Role < identity.RoleOperator) {
		scope = identity.ScopeSubmit
	}
	made, err := l.signedIn(r, c, in.Name, scope)
	return v1.LoginState{Token: &made}, err
}

// signedIn makes a token of a user whom the provider has named.
func (l *logins) signedIn(r *http.Request, c identity.Caller, name string, scope identity.Scope) (v1.Token, error) {
	in := v1.Token{Name: name, Scope: string(scope), Lifetime: l.Lifetime.String()}
	return l.tokens.put(r.Context(), c, &in, func(c identity.Caller, in *v1.Token, _ []identity.Issued) (identity.Issued, error) {
		return l.tokens.issue(c, in.Name, scope, l.Lifetime), nil
	})
}

package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/records"
)

// tokens answers for the tokens that users make to call from other machines.
type tokens struct {
	owned[identity.Issued, v1.Token]
	makes  *identity.Tokens // nil: no other machine reaches the daemon
	server func() string    // where they do; likewise
}

func issuedIn(st records.Store) records.Set[identity.Issued] {
	return records.Set[identity.Issued]{Store: st, Kind: "token", Key: func(i *identity.Issued) (owner, name *string) { return &i.Owner, &i.Name }}
}

// findIssued finds issued tokens in a store.
func findIssued(st records.Store) identity.IssuedTokens {
	set := issuedIn(st)
	return func(ctx context.Context, owner, name string) (identity.Issued, bool, error) {
		one, err := set.Find(ctx, owner, name)
		if errors.Is(err, federation.ErrNotFound) {
			return one, false, nil
		}
		return one, err == nil, answer.OfStore(err, answer.NoContact)
	}
}

func newTokens(c *Config) *tokens {
	t := &tokens{owned[identity.Issued, v1.Token]{Noun: &v1.Tokens, Now: c.Now, Itself: identity.Caller.IsToken}, c.Tokens, c.RemoteAddress}
	t.Make, t.Shown = t.made, t.shown
	if c.Store != nil {
		t.Kept = issuedIn(c.Store)
	}
	return t
}

func (t *tokens) routes(to *table) {
	t.owned.routes(to)
	do(to, "GET", "/fed/v1/caller", v1.ForAnybody, "Who the daemon takes the caller for", whoCalls)
}

func whoCalls(_ *http.Request, c identity.Caller) (v1.Caller, error) {
	return v1.Caller{User: c.Name, UID: c.UID, Role: c.Role.String(), From: c.From, Scope: string(c.Scope), Expires: c.Expires.UTC()}, nil
}

func (t *tokens) shown(one *identity.Issued) v1.Token {
	out := v1.Token{User: one.Owner, Name: one.Name, Scope: string(one.Scope), Created: one.Created, Expires: one.Expires, Token: one.Text}
	if one.Text != "" {
		out.Server = v1.LoginServer(t.server())
	}
	return out
}

func (t *tokens) made(c identity.Caller, in *v1.Token, _ []identity.Issued) (one identity.Issued, err error) {
	scope := identity.Scope(in.Scope)
	switch {
	case t.makes == nil || t.server == nil:
		return one, errors.New("no other machine reaches this daemon: set remote: listen in its configuration")
	case !slices.Contains([]identity.Scope{identity.ScopeRead, identity.ScopeSubmit, identity.ScopeOperate}, scope):
		return one, fmt.Errorf("invalid scope %q: want read, submit or operate", in.Scope)
	case scope == identity.ScopeOperate && c.Role < identity.RoleOperator:
		return one, errors.New("invalid scope operate: only operators make such tokens, for themselves")
	}
	life, err := lifetime(in.Lifetime)
	if err != nil {
		return one, err
	}
	return t.issue(c, in.Name, scope, life), nil
}

// issue makes a token for c.
func (t *tokens) issue(c identity.Caller, name string, scope identity.Scope, life time.Duration) identity.Issued {
	now := t.Now().UTC().Truncate(time.Second)
	one := identity.Issued{Owner: c.Name, Name: name, UID: c.UID, Scope: scope, Created: now, Expires: now.Add(life)}
	t.makes.Issue(&one)
	return one
}

// mostLifetime of a token. A token that nobody renews in a year is one that nobody looks after.
const mostLifetime = 366 * 24 * time.Hour

// lifetime reads "12h", "30d" or "8w".
func lifetime(text string) (time.Duration, error) {
	units := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	if text != "" {
		n, err := strconv.ParseUint(text[:len(text)-1], 10, 16)
		if unit := units[text[len(text)-1]]; err == nil && n > 0 && unit > 0 && time.Duration(n)*unit <= mostLifetime {
			return time.Duration(n) * unit, nil
		}
	}
	return 0, fmt.Errorf("invalid lifetime %q: want hours, days or weeks, as 12h, 30d or 8w, a year at most", text)
}

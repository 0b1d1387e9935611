package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/identity/oidc"
	"fsub/federation/api/signin"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/share"
)

// browsers lets users sign in at browsers.
type browsers struct {
	Book    *signin.Book
	Log     audit.Log
	Now     func() time.Time
	Address string // of the page; "": there is none

	Provider *oidc.Verifier // of OpenID, by which users sign in; nil: there is none
	SignedIn func(oidc.User) (identity.Caller, error)

	mu      sync.Mutex
	refused time.Time // that a ticket was refused was written down last then
	more    int       // and so many since
}

func (b *browsers) routes(t *table) {
	post(t, "/fed/v1/web/tickets", v1.ForAnybody, "A ticket by which the caller signs in at a browser: on the socket only", b.ticket)
	list(t, &v1.WebSessions, b.list)
	postLarge(t, mostIDToken, "/fed/v1/web/sessions", v1.ForAnybody, "Exchange a ticket or an ID token for a session: for the daemon's page only", b.open)
	do(t, "GET", "/fed/v1/web/session/{hash}", v1.ForAnybody, "A session by the SHA-256 of its secret: for the daemon's page only", b.find)
	do(t, "POST", "/fed/v1/web/session/{hash}/used", v1.ForAnybody, "The session was used: for the daemon's page only", b.use)
	end := do(t, "DELETE", "/fed/v1/web/session/{id}", v1.ForOwners, "End a session of the caller's; all: every one", b.end)
	end.Query = whose
}

// entry is what the audit log says of a caller who signs in or out.
func (b *browsers) entry(c identity.Caller, verb, user string) audit.Entry {
	return audit.Entry{At: b.Now(), Who: answer.By(c), Verb: verb, Kind: audit.User, Object: user}
}

func (b *browsers) ticket(r *http.Request, c identity.Caller, in *v1.NewTicket) (out v1.Ticket, err error) {
	address := b.Address
	if page := r.Header.Get(identity.HeaderPage); page != "" && identity.ByDaemon(r.Context()) { // the page where the caller is
		address = page
	}
	switch {
	case address == "":
		return out, refuseOwned(federation.ErrNotFound, "this daemon serves no page: set web: {listen: HOST:PORT} in its configuration")
	case c.From != "socket":
		return out, refuseOwned(federation.ErrDenied, "a ticket is given on the daemon's machine only, where the kernel says who asks")
	case in.Operator && c.Role < identity.RoleOperator:
		return out, errOperatorsOnly
	}
	verb := "web-ticket"
	if in.Operator {
		verb = "web-ticket-operator"
	}
	text, t, err := b.Book.Ticket(r.Context(), c.Name, c.UID, in.Operator, b.entry(c, verb, c.Name))
	if err != nil {
		return out, answer.OfStore(err, answer.NoContact)
	}
	return v1.Ticket{Ticket: text, Until: t.Until, Address: address}, nil
}

var (
	errPageOnly  = refuseOwned(federation.ErrDenied, "this is for the daemon's page only")
	errBadTicket = refuseOwned(federation.ErrDenied, "the ticket is not valid: it was used, or is older than a minute; for a new one: fed web")
	hashForm     = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

func (b *browsers) open(r *http.Request, c identity.Caller, in *v1.NewSession) (out v1.WebSession, err error) {
	if c.From != identity.FromWeb {
		return out, errPageOnly
	}
	browser := in.Browser[:min(len(in.Browser), 200)]
	switch {
	case !hashForm.MatchString(in.Session), in.IDToken == "" && !hashForm.MatchString(in.Ticket):
		return out, answer.BadBody("ticket and session are 64 hexadecimal digits")
	case in.IDToken != "":
		return b.openByToken(r.Context(), c, in, browser)
	}
	s, err := b.Book.Open(r.Context(), c.Name, c.UID, in.Ticket, signin.Seal{Until: in.Until, MAC: in.Seal}, in.Session, browser, b.entry(c, "sign-in", c.Name))
	if errors.Is(err, federation.ErrDenied) {
		b.tell(r.Context(), c)
		return out, errBadTicket
	}
	if err != nil {
		return out, answer.OfStore(err, answer.NoContact)
	}
	return shownSession(s), nil
}

// mostIDToken bounds the request for a session: ID tokens have some kilobytes.
const mostIDToken = 64 << 10

// openByToken opens a session of the user whom an ID token names. The page has verified it; but whoever opens a session does not take its word for that.
func (b *browsers) openByToken(ctx context.Context, c identity.Caller, in *v1.NewSession, browser string) (out v1.WebSession, err error) {
	if b.Provider == nil {
		return out, refuseOwned(federation.ErrDenied, "this daemon has no OpenID provider")
	}
	if in.Nonce == "" {
		return out, answer.BadBody("nonce is that of the sign-in")
	}
	again := share.Idle(ctx)
	u, err := b.Provider.Verify(ctx, in.IDToken, in.Nonce)
	again()
	if err != nil {
		return out, refuseOwned(federation.ErrDenied, "%v", err)
	}
	named, err := b.SignedIn(u)
	switch {
	case err != nil:
		return out, err
	case named.UID != c.UID:
		return out, refuseOwned(federation.ErrDenied, "the ID token names %s, and not %s", named.Name, c.Name)
	}
	e := b.entry(c, "sign-in", c.Name)
	e.After = fmt.Sprintf("by the OpenID provider, as %.64q", u.Subject)
	s, err := b.Book.OpenAs(ctx, c.Name, c.UID, in.Session, browser, e)
	if err != nil {
		return out, answer.OfStore(err, answer.NoContact)
	}
	return shownSession(s), nil
}

// toldEvery is how often the audit log is told of tickets that were refused: whoever tries many does not fill it.
const toldEvery = 10 * time.Second

// tell writes down that a ticket was refused.
func (b *browsers) tell(ctx context.Context, c identity.Caller) {
	b.mu.Lock()
	if b.Now().Sub(b.refused) < toldEvery {
		b.more++
		b.mu.Unlock()
		return
	}
	e := b.entry(c, "sign-in", c.Name)
	e.Result = "the ticket is not valid"
	if b.more > 0 {
		e.Result += fmt.Sprintf("; neither were %d others since %s", b.more, b.refused.UTC().Format(time.RFC3339))
	}
	b.refused, b.more = b.Now(), 0
	b.mu.Unlock()
	_ = b.Log.AddAudit(ctx, e) // a store that is away has other signs
}

func shownSession(s *signin.Session) v1.WebSession {
	out := v1.WebSession{ID: s.ID(), User: s.User, Browser: s.Browser, Since: s.Since, Used: s.Used, Until: s.Until()}
	if !s.Raised.IsZero() {
		out.Raised = &s.Raised
	}
	return out
}

func (b *browsers) find(r *http.Request, c identity.Caller) (out v1.WebSession, err error) {
	if c.From != identity.FromWeb {
		return out, errPageOnly
	}
	s, err := b.Book.Find(r.Context(), c.Name, c.UID, r.PathValue("hash"))
	if errors.Is(err, federation.ErrNotFound) {
		return out, refuseOwned(federation.ErrNotFound, "the session has ended")
	}
	if err != nil {
		return out, answer.OfStore(err, answer.NoContact)
	}
	return shownSession(s), nil
}

func (b *browsers) use(r *http.Request, c identity.Caller) (none v1.None, err error) {
	if c.From != identity.FromWeb {
		return none, errPageOnly
	}
	return none, answer.OfStore(b.Book.Use(r.Context(), c.Name, r.PathValue("hash")), answer.NoContact)
}

func (b *browsers) list(ctx context.Context, c identity.Caller, _ v1.None) ([]v1.WebSession, error) {
	user := c.Name
	if c.Role >= identity.RoleOperator {
		user = ""
	}
	all, err := b.Book.Sessions(ctx, user)
	out := make([]v1.WebSession, len(all))
	for i := range all {
		out[i] = shownSession(&all[i])
	}
	return out, answer.OfStore(err, answer.NoContact)
}

func (b *browsers) end(r *http.Request, c identity.Caller) (out v1.Ended, err error) {
	user, id := ownerOf(r, c), r.PathValue("id")
	switch {
	case user != c.Name && c.Role < identity.RoleOperator:
		return out, refuseOwned(federation.ErrDenied, "sessions of others are for operators")
	}
	if c.From != "socket" && c.From != identity.FromWeb {
		return out, refuseOwned(federation.ErrDenied, "sessions are ended on the daemon's machine, or at a browser")
	}
	if id == "all" {
		id = ""
	}
	n, err := b.Book.End(r.Context(), user, id, b.entry(c, "sign-out", user))
	switch {
	case err != nil:
		return out, answer.OfStore(err, answer.NoContact)
	case n == 0 && id != "":
		return out, refuseOwned(federation.ErrNotFound, "%s has no session %q; see: fed web sessions", user, r.PathValue("id"))
	}
	return v1.Ended{Sessions: n}, nil
}

// webPath is where the page is on the socket.
const webPath = "/web/"

// onSocket serves the page on the socket to the user whom the kernel names: what passes requests on from a browser there, such as Open OnDemand, runs as that user.
func onSocket(who *identity.Identity, page http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := who.Caller(r)
		if err == nil && c.From != "socket" {
			err = answer.NoRoute(r)
		}
		if err != nil {
			answer.Refusal(w, answer.Status(err), err)
			return
		}
		page.ServeHTTP(w, r.WithContext(identity.ByBrowser(r.Context(), c.UID, false)))
	})
}

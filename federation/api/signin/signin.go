// Package signin keeps the tickets by which users sign in at a browser, and the sessions that they open with them. [Book] has both, in the store, so that each of several
// daemons knows them. Of secrets it has the hash only ([Hash]): nobody who reads the store can sign in. A ticket is signed ([Seal]): one that is made up, or too old, is refused
// without a look at the store, so that guesses cost nothing, and nobody has to be kept from trying.
package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/federation/records"
)

// How long things last, and how many of them a user may have; of more, the oldest end.
const (
	TicketLife  = time.Minute
	IdleLife    = 8 * time.Hour
	SessionLife = 24 * time.Hour
	RaisedLife  = 15 * time.Minute
	// UsedWithin: the time of a session's last use is written no more often.
	UsedWithin = 5 * time.Minute

	MostTickets  = 5
	MostSessions = 20
)

// Secret is 256 bits that nobody can guess, as text.
func Secret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // it never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// Hash names what a secret opens.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Ticket is one that has not been used yet.
type Ticket struct {
	User  string    `json:"user"`
	Hash  string    `json:"hash"`
	UID   uint32    `json:"uid"`
	Until time.Time `json:"until"`
	Raise bool      `json:"raise,omitempty"`
}

// Session is a browser at which a user has signed in.
type Session struct {
	User    string    `json:"user"`
	Hash    string    `json:"hash"`
	UID     uint32    `json:"uid"`
	Browser string    `json:"browser,omitempty"`
	Since   time.Time `json:"since"`
	Used    time.Time `json:"used"`
	Raised  time.Time `json:"raised,omitzero"` // it has its user's rights as operator until then
}

// Until is when it ends if it is used.
func (s *Session) Until() time.Time { return s.Since.Add(SessionLife) }

// ID names it to people. It opens nothing.
func (s *Session) ID() string { return s.Hash[:12] }

func (s *Session) open(now time.Time) bool {
	return now.Before(s.Until()) && now.Before(s.Used.Add(IdleLife+UsedWithin))
}

// Book has all tickets and sessions.
type Book struct {
	tickets  records.Set[Ticket]
	sessions records.Set[Session]
	now      func() time.Time
	key      key
}

// New returns the Book of a store.
func New(s records.Store, now func() time.Time) *Book {
	return &Book{
		tickets:  records.Set[Ticket]{Store: s, Kind: "web-ticket", Key: func(t *Ticket) (owner, name *string) { return &t.User, &t.Hash }},
		sessions: records.Set[Session]{Store: s, Kind: "web-session", Key: func(s *Session) (owner, name *string) { return &s.User, &s.Hash }},
		now:      now,
		key:      key{kept: records.Set[keyRecord]{Store: s, Kind: "web-key", Key: func(k *keyRecord) (owner, name *string) { return &k.Owner, &k.Name }}},
	}
}

// gone is err, or nil if somebody else was faster to remove something.
func gone(err error) error {
	if errors.Is(err, federation.ErrNotFound) {
		return nil
	}
	return err
}

// Ticket makes a ticket and returns its text: see [ReadTicket].
func (b *Book) Ticket(ctx context.Context, user string, uid uint32, raise bool, by audit.Entry) (string, *Ticket, error) {
	key, err := b.key.get(ctx)
	if err != nil {
		return "", nil, err
	}
	old, err := b.tickets.List(ctx, user)
	if err != nil {
		return "", nil, err
	}
	slices.SortFunc(old, func(x, y Ticket) int { return x.Until.Compare(y.Until) })
	for i := range old {
		if len(old)-i >= MostTickets || !b.now().Before(old[i].Until) {
			if err := b.tickets.Remove(ctx, user, old[i].Hash); gone(err) != nil {
				return "", nil, err
			}
		}
	}
	secret := Secret()
	t := &Ticket{User: user, Hash: Hash(secret), UID: uid, Until: b.now().Add(TicketLife).UTC(), Raise: raise}
	text := user + "." + secret + sealOf(key, user, t.Hash, t.Until).text()
	return text, t, b.tickets.Put(ctx, t, by)
}

// Open exchanges a ticket for a session. The ticket is used up by that. ErrDenied: there is none of that hash and seal, or no longer.
func (b *Book) Open(ctx context.Context, user string, uid uint32, ticket string, seal Seal, session, browser string, by audit.Entry) (*Session, error) {
	key, err := b.key.get(ctx)
	if err != nil {
		return nil, err
	}
	if !seal.good(key, user, ticket, b.now()) {
		return nil, federation.ErrDenied
	}
	t, err := b.tickets.Find(ctx, user, ticket)
	if err == nil {
		err = b.tickets.Remove(ctx, user, ticket) // of two who come with it at once, one removes it
	}
	switch {
	case errors.Is(err, federation.ErrNotFound), err == nil && (t.UID != uid || !b.now().Before(t.Until)):
		return nil, federation.ErrDenied
	case err != nil:
		return nil, err
	}
	return b.begin(ctx, &Session{User: user, Hash: session, UID: uid, Browser: browser}, t.Raise, by)
}

// OpenAs opens a session of a user whom somebody else has identified.
func (b *Book) OpenAs(ctx context.Context, user string, uid uint32, session, browser string, by audit.Entry) (*Session, error) {
	return b.begin(ctx, &Session{User: user, Hash: session, UID: uid, Browser: browser}, false, by)
}

// begin opens a session now.
func (b *Book) begin(ctx context.Context, s *Session, raise bool, by audit.Entry) (*Session, error) {
	if err := b.makeRoom(ctx, s.User); err != nil {
		return nil, err
	}
	s.Since = b.now().UTC()
	s.Used = s.Since
	if raise {
		s.Raised = s.Since.Add(RaisedLife)
		by.After = "operator until " + s.Raised.Format(time.RFC3339)
	}
	return s, b.sessions.Put(ctx, s, by)
}

// makeRoom removes the sessions of a user that have ended, and the oldest of those that are too many.
func (b *Book) makeRoom(ctx context.Context, user string) error {
	old, err := b.sessions.List(ctx, user)
	if err != nil {
		return err
	}
	slices.SortFunc(old, func(x, y Session) int { return cmp.Or(x.Used.Compare(y.Used), cmp.Compare(x.Hash, y.Hash)) })
	for i := range old {
		if len(old)-i >= MostSessions || !old[i].open(b.now()) {
			if err := b.sessions.Remove(ctx, user, old[i].Hash); gone(err) != nil {
				return err
			}
		}
	}
	return nil
}

// Find returns an open session. ErrNotFound: there is none of that hash.
func (b *Book) Find(ctx context.Context, user string, uid uint32, hash string) (*Session, error) {
	s, err := b.sessions.Find(ctx, user, hash)
	if err == nil && (s.UID != uid || !s.open(b.now())) {
		err = federation.ErrNotFound
	}
	return &s, err
}

// Use says that a session was used now.
func (b *Book) Use(ctx context.Context, user, hash string) error {
	now := b.now().UTC()
	return gone(b.sessions.Update(ctx, user, hash, func(s *Session) bool {
		used := s.open(now) && now.Sub(s.Used) >= UsedWithin
		s.Used = now
		return used
	}))
}

// Sessions lists the open sessions of a user; of all if user is "".
func (b *Book) Sessions(ctx context.Context, user string) ([]Session, error) {
	all, err := b.sessions.List(ctx, user)
	return slices.DeleteFunc(all, func(s Session) bool { return !s.open(b.now()) }), err
}

// End ends the session of a user that id names, or its hash; "": all of them. It returns how many there were.
func (b *Book) End(ctx context.Context, user, id string, by audit.Entry) (n int, err error) {
	all, err := b.sessions.List(ctx, user)
	if err != nil {
		return 0, err
	}
	for i := range all {
		if s := &all[i]; id == "" || id == s.ID() || id == s.Hash {
			by.Before = s.ID()
			if err := b.sessions.Remove(ctx, user, s.Hash, by); gone(err) != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

package identity

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"fsub/federation/api/identity/munge"
)

// Munge identifies callers on machines that share a munge key with a site: munged says which uid of those machines has made a credential.
type Munge struct {
	Sites       map[string]MungeSite
	Fingerprint string // of the daemon's certificate: SHA-256 in hexadecimal
	// Since is when this daemon began to answer in the place of another, which may have taken credentials that were made before; zero: there was none.
	Since time.Time
	used  used
}

// EarlyError refuses a credential since another daemon may have taken it before: a new one is good.
type EarlyError struct{ since time.Time }

func (e EarlyError) Error() string {
	return "cannot tell who calls: the munge credential was made before this daemon took over, at " + e.since.UTC().Format(time.DateTime) + " UTC: try again; if it stays so, set the clock of the machine that makes it"
}

// MungeSite is one site whose munge key a munged of this machine has.
type MungeSite struct {
	Socket string
	Users  SiteUsers
}

// mungeTime is how long munged may take, longestTTL how long a credential may be good for: it is munged's own default.
const (
	mungeTime  = 5 * time.Second
	longestTTL = 5 * time.Minute
)

// caller is who has made the credential of a request. Whoever comes so is an ordinary user: root of a login node is not trusted with more than its users.
func (m *Munge) caller(r *http.Request, names *Names) (Caller, error) {
	name, cred, _ := strings.Cut(r.Header.Get(munge.Header), " ")
	if m == nil {
		return Caller{}, noCaller("this daemon takes no munge credentials: create a token on its machine (fed token create NAME)")
	}
	site, known := m.Sites[name]
	if !known {
		return Caller{}, noCaller(fmt.Sprintf("this daemon has no munge key of a site %.64q", name))
	}
	c, err := munge.Decode(site.Socket, cred, mungeTime)
	if err == nil {
		err = m.check(name, cred, &c)
	}
	if err != nil {
		return Caller{}, noCaller(fmt.Sprintf("site %s: %v", name, err))
	}
	if !m.Since.IsZero() && c.Encoded.Unix() <= m.Since.Unix() {
		return Caller{}, EarlyError{m.Since}
	}
	user, err := site.Users.byUID(name, c.UID, names)
	if err != nil {
		return Caller{}, noCaller(err.Error())
	}
	return names.ordinary(user, "munge "+name, fmt.Sprintf("uid %d of %s", c.UID, name))
}

// check refuses a credential that was made for something else, or was used before: a munged knows those that it has decoded itself since it was started, and there may be
// others with the same key.
func (m *Munge) check(site, cred string, c *munge.Credential) error {
	switch {
	case c.Payload != munge.PayloadFor(site, m.Fingerprint):
		return errors.New("the munge credential was made for something else than a call of this daemon")
	case c.TTL > longestTTL:
		return fmt.Errorf("the munge credential is good for %s, longer than %s", c.TTL, longestTTL)
	case !m.used.first(cred, time.Now()):
		return munge.ErrReplayed
	}
	return nil
}

// used remembers credentials for as long as they can be good: longestTTL before and after they were made.
type used struct {
	mu       sync.Mutex
	now, was map[[sha256.Size]byte]struct{} // since and before the last turn
	turn     time.Time
}

// first reports whether a credential has not been used before.
func (u *used) first(cred string, at time.Time) bool {
	sum := sha256.Sum256([]byte(cred))
	u.mu.Lock()
	defer u.mu.Unlock()
	if at.Sub(u.turn) > 2*longestTTL {
		u.now, u.was, u.turn = map[[sha256.Size]byte]struct{}{}, u.now, at
	}
	_, now := u.now[sum]
	_, before := u.was[sum]
	u.now[sum] = struct{}{}
	return !now && !before
}

package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// SiteTokens identify callers by what "scontrol token" prints at a site, or whoever signs the site's tokens for it.
type SiteTokens struct {
	Sites map[string]*TokenSite
	// Private refuses a file that others may read.
	Private func(path string) error
	now     func() time.Time // nil: time.Now
}

// TokenSite is a site whose tokens are taken.
type TokenSite struct {
	// File has the site's jwt_key, by which HS256 is checked; or its JWKS, by which RS256 is, and nothing else. It is read again when it changes.
	File  string
	Users SiteUsers

	mu    sync.Mutex
	stamp string
	key   []byte              // or
	set   *jose.JSONWebKeySet // the public keys
}

// Check says what is wrong with the site's file.
func (s *TokenSite) Check(private func(path string) error) error {
	_, _, err := s.keys(private)
	return err
}

// keys are those of the file as it is now.
func (s *TokenSite) keys(private func(string) error) (key []byte, set *jose.JSONWebKeySet, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := os.Stat(s.File)
	if err != nil {
		return nil, nil, err
	}
	if stamp := fmt.Sprint(st.ModTime().UnixNano(), st.Size()); stamp != s.stamp {
		text, err := os.ReadFile(s.File)
		if err != nil {
			return nil, nil, err
		}
		key, set := text, (*jose.JSONWebKeySet)(nil)
		if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
			key, set = nil, new(jose.JSONWebKeySet)
			err = json.Unmarshal(text, set)
		} else {
			err = private(s.File)
		}
		if err == nil && set == nil && len(key) == 0 {
			err = errors.New("it is empty")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", s.File, err)
		}
		s.key, s.set, s.stamp = key, set, stamp
	}
	return s.key, s.set, nil
}

// signed is what a token says if the site has signed it.
func (s *TokenSite) signed(token string, private func(string) error) (payload []byte, err error) {
	key, set, err := s.keys(private)
	if err != nil {
		return nil, err
	}
	if set == nil {
		j, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.HS256})
		if err != nil {
			return nil, nil // not its
		}
		payload, _ = j.Verify(key)
		return payload, nil
	}
	j, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil || len(j.Signatures) != 1 {
		return nil, nil
	}
	for _, k := range set.Keys {
		if id := j.Signatures[0].Header.KeyID; (id == "" || k.KeyID == id) && k.IsPublic() {
			if payload, err := j.Verify(k.Key); err == nil {
				return payload, nil
			}
		}
	}
	return nil, nil
}

// caller is the user of a token, if a site has signed it. known: one has, or it cannot be told.
func (t *SiteTokens) caller(token string, names *Names) (c Caller, known bool, err error) {
	if t == nil || strings.Count(token, ".") != 2 {
		return c, false, nil
	}
	var sites []string
	var payload []byte
	var failed error
	for name, s := range t.Sites {
		text, err := s.signed(token, t.Private)
		switch {
		case err != nil:
			failed = noCaller(fmt.Sprintf("the tokens of site %s cannot be checked: the daemon cannot use the key of site_tokens, and its log said why when it started", name))
		case text != nil:
			sites, payload = append(sites, name), text
		}
	}
	switch {
	case len(sites) == 0:
		return c, failed != nil, failed
	case len(sites) > 1:
		slices.Sort(sites)
		return c, true, noCaller("several sites have signed the token, having one key: " + strings.Join(sites, ", "))
	}
	user, err := t.user(sites[0], payload)
	if err == nil {
		c, err = names.ordinary(user.here, "site "+sites[0], user.there+" of "+sites[0])
	} else {
		err = noCaller(err.Error())
	}
	c.Expires = user.expires
	return c, true, err
}

// siteClaims are those of Slurm's tokens.
type siteClaims struct {
	Expires float64 `json:"exp"`
	Before  float64 `json:"nbf"`
	User    string  `json:"sun"`
}

type tokenUser struct {
	here, there string
	expires     time.Time
}

// user reads what a site has signed.
func (t *SiteTokens) user(site string, payload []byte) (u tokenUser, err error) {
	now := time.Now
	if t.now != nil {
		now = t.now
	}
	var c siteClaims
	switch err := json.Unmarshal(payload, &c); {
	case err != nil:
		return u, fmt.Errorf("the token of site %s cannot be read", site)
	case c.User == "":
		return u, fmt.Errorf("the token of site %s names no user: it has no claim sun", site)
	case c.Expires <= float64(now().Unix()):
		return u, fmt.Errorf("the token of site %s has expired, or does not say when it does", site)
	case c.Before > float64(now().Unix()):
		return u, fmt.Errorf("the token of site %s is not good yet; do the clocks agree?", site)
	}
	const latest = 1 << 36 // "lifespan=infinite" is later than a time can be
	u.there, u.expires = c.User, time.Unix(int64(min(c.Expires, latest)), 0).UTC()
	u.here, err = t.Sites[site].Users.byName(site, c.User)
	return u, err
}

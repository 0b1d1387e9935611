package simsite

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"fsub/slurm/wire"
)

// Token makes a token as "scontrol token" does: HS256 with the claims exp, iat and sun.
func (s *Site) Token(user string, life time.Duration) string {
	now := s.cfg.TokenClock.Now()
	claims, _ := json.Marshal(map[string]any{"exp": now.Add(life).Unix(), "iat": now.Unix(), "sun": user})
	body := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		base64.RawURLEncoding.EncodeToString(claims)
	return body + "." + base64.RawURLEncoding.EncodeToString(s.sign(body))
}

func (s *Site) sign(body string) []byte {
	m := hmac.New(sha256.New, s.cfg.JWTKey)
	m.Write([]byte(body))
	return m.Sum(nil)
}

// tokenUser checks a token and returns the user it was made for.
func (s *Site) tokenUser(token string) (string, bool) {
	dot := strings.LastIndexByte(token, '.')
	if dot < 0 {
		return "", false
	}
	body := token[:dot]
	sig, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(token[dot+1:], "="))
	if err != nil || !hmac.Equal(sig, s.sign(body)) {
		return "", false
	}
	_, payload, _ := strings.Cut(body, ".")
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(payload, "="))
	var c struct {
		Exp      float64 `json:"exp"`
		Sun      string  `json:"sun"`
		Username string  `json:"username"`
	}
	if err != nil || json.Unmarshal(raw, &c) != nil || int64(c.Exp) < s.cfg.TokenClock.Now().Unix() {
		return "", false
	}
	if c.Sun == "" {
		c.Sun = c.Username
	}
	return c.Sun, c.Sun != ""
}

type authResult int

const (
	authOK      authResult = iota
	authMissing            // no credentials: slurmrestd itself says 401
	authBad                // slurmrestd passes it on, slurmctld refuses it
)

// authenticate reads the headers that slurmrestd reads. The token of root or SlurmUser may name another user; the request
// then has that user's rights and no more.
func (s *Site) authenticate(h http.Header) (Caller, authResult) {
	name, token := h.Get(wire.HeaderUser), h.Get(wire.HeaderToken)
	if bearer, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer "); ok && token == "" {
		token = bearer
	}
	if token == "" && s.cfg.JWTKey != nil {
		return Caller{}, authMissing
	}
	if s.cfg.JWTKey == nil {
		def(&name, s.cfg.SlurmUser)
	}
	of := name
	if s.cfg.JWTKey != nil {
		var ok bool
		if of, ok = s.tokenUser(token); !ok {
			return Caller{}, authBad
		}
	}
	def(&name, of)
	super := of == "root" || of == s.cfg.SlurmUser
	if name != of && !super {
		return Caller{}, authBad
	}
	s.mu.Lock()
	known := s.userByName(name) != nil
	s.mu.Unlock()
	if !known {
		return Caller{}, authBad
	}
	return Caller{Name: name, Privileged: super && name == of}, authOK
}

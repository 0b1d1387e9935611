package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"fsub/federation/api/identity/munge"
)

// Tokens makes and checks the tokens that identify callers over TLS: the commands inside jobs, and people who were issued one ([Tokens.Issue]). A token is a JWT (HS256) of the shape that "scontrol token" prints, with the claims exp, iat and
// sun (the user's name here).
type Tokens struct {
	key []byte
	now func() time.Time
}

// NewTokens makes Tokens of a secret key, which whoever has it can make tokens for everybody with.
func NewTokens(key []byte) *Tokens { return &Tokens{key: key, now: time.Now} }

// Make returns a token for a user that is good until the given time.
func (t *Tokens) Make(user string, until time.Time) string { return t.MakeFor(user, nil, until) }

// MakeFor is Make for the commands inside a job: the token ends with the job, and does what a job needs and nothing else.
func (t *Tokens) MakeFor(user string, job *JobClaim, until time.Time) string {
	return t.sign(claims{Expires: until.Unix(), Issued: t.now().Unix(), User: user, Job: job})
}

func (t *Tokens) sign(c claims) string {
	body, err := json.Marshal(c)
	if err != nil {
		panic(err) // numbers and strings
	}
	enc := base64.RawURLEncoding
	text := enc.EncodeToString([]byte(tokenHead)) + "." + enc.EncodeToString(body)
	return text + "." + enc.EncodeToString(t.mac(text))
}

const tokenHead = `{"alg":"HS256","typ":"JWT"}`

type claims struct {
	Expires int64        `json:"exp"`
	Issued  int64        `json:"iat"`
	User    string       `json:"sun"`
	Job     *JobClaim    `json:"fsub_job,omitempty"`
	Token   *issuedClaim `json:"fsub_token,omitempty"`
}

// JobClaim names the job that a token was made for: its number in the federation, the attempt that has brought it to a site, and the site.
type JobClaim struct {
	Job     uint32 `json:"id"`
	Attempt int    `json:"attempt,omitempty"` // 0: any
	Site    string `json:"site,omitempty"`    // "": any
}

func (t *Tokens) mac(text string) []byte {
	m := hmac.New(sha256.New, t.key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

var errBadToken = errors.New("the token was not made by this daemon, nor by a site or provider whose tokens it takes")

// User returns whose token it is.
func (t *Tokens) User(token string) (string, error) {
	c, err := t.read(token)
	return c.User, err
}

// read reads a token. Only what Make has made is taken: no other algorithm, and nothing that has expired.
func (t *Tokens) read(token string) (claims, error) {
	cut := strings.LastIndexByte(token, '.')
	if cut < 0 {
		return claims{}, errBadToken
	}
	enc := base64.RawURLEncoding
	mac, err := enc.DecodeString(token[cut+1:])
	head, body, _ := strings.Cut(token[:cut], ".")
	if err != nil || head != enc.EncodeToString([]byte(tokenHead)) || !hmac.Equal(mac, t.mac(token[:cut])) {
		return claims{}, errBadToken
	}
	var c claims
	text, err := enc.DecodeString(body)
	if err := errors.Join(err, json.Unmarshal(text, &c)); err != nil || c.User == "" {
		return claims{}, errBadToken
	}
	if t.now().Unix() >= c.Expires {
		return claims{}, fmt.Errorf("the token has expired at %s UTC: sign in again (fsub login)", time.Unix(c.Expires, 0).UTC().Format(time.DateTime))
	}
	return c, nil
}

// NoCallerError is why it cannot be told who calls.
type NoCallerError struct{ why string }

func (e NoCallerError) Error() string { return "cannot tell who calls: " + e.why }

func noCaller(why string) error { return NoCallerError{why} }

// NoCaller is an error that says why it cannot be told who calls.
func NoCaller(why string) error { return NoCallerError{why} }

// Caller is who sent a request: by the kernel's word on a unix socket, by a token over TCP. Whoever comes with a token is a user
// and no more: tokens lie in the environment of jobs.
func (i *Identity) Caller(r *http.Request) (Caller, error) {
	if b, ok := r.Context().Value(webKey{}).(browser); ok {
		return i.browser(b, r)
	}
	token := r.Header.Get("X-SLURM-USER-TOKEN")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && token == "" {
		token = bearer
	}
	p, ok := r.Context().Value(peerKey{}).(peer)
	switch caller := r.Header.Get(HeaderCaller); {
	case p.names && strings.HasPrefix(caller, webPrefix):
		b, err := readBrowser(caller)
		if err != nil {
			return Caller{}, noCaller(err.Error())
		}
		return i.browser(b, r)
	case p.names && caller != "":
		p.cred, p.err = passedOn(caller)
		return i.peer(p)
	case !p.names && (r.TLS == nil || i.tokens == nil):
		if !ok {
			return Caller{}, noCaller("the connection was not accepted by this server")
		}
		return i.peer(p)
	case i.tokens == nil:
		return Caller{}, noCaller("the daemon that passes it on does not say who calls")
	}
	if token == "" && r.Header.Get(munge.Header) != "" {
		return i.munge.caller(r, i.Users)
	}
	if token == "" {
		return Caller{}, noCaller("a call over TCP needs a token in X-SLURM-USER-TOKEN; jobs find one in FSUB_TOKEN, people make one: fed token create NAME")
	}
	claims, err := i.tokens.read(token)
	if errors.Is(err, errBadToken) {
		if c, known, err := i.siteTokens.caller(token, i.Users); known {
			return c, err
		}
		if c, known, err := i.ofProvider(r.Context(), token); known {
			return c, err
		}
	}
	if err != nil {
		return Caller{}, noCaller(err.Error())
	}
	user := claims.User
	if claimed := r.Header.Get("X-SLURM-USER-NAME"); claimed != "" && claimed != user {
		return Caller{}, noCaller(fmt.Sprintf("the token is %s's, not %s's", user, claimed))
	}
	uid, gid, err := i.Users.UserIDs(user)
	if err != nil {
		return Caller{}, noCaller(fmt.Sprintf("%s is not a user of this machine", user))
	}
	if claims.Token != nil {
		return i.issued(r.Context(), claims, uid, gid)
	}
	return Caller{Name: user, UID: uid, GID: gid, From: "TLS", Claim: claims.Job}, nil
}

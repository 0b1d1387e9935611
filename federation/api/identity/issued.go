package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"time"
)

// Scope limits what a caller may do of what the user may. Each includes those before it.
type Scope string

const (
	ScopeRead    Scope = "read"    // look
	ScopeSubmit  Scope = "submit"  // act as an ordinary user
	ScopeOperate Scope = "operate" // act as an operator, if the user is one; never as an administrator or a coordinator
)

// Issued is a token that was made for a person, as the store keeps it: nothing in it makes the token.
type Issued struct {
	Owner   string    `json:"owner"`
	Name    string    `json:"name"`
	UID     uint32    `json:"uid"` // of Owner when it was made: the token is not a later user's of that name
	Scope   Scope     `json:"scope"`
	Digest  []byte    `json:"digest"` // SHA-256 of the random part
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`

	// Text is the token itself. It is known to whoever has called [Tokens.Issue], and stored nowhere.
	Text string `json:"-"`
}

// fromToken begins [Caller.From] of one who has an issued token; its name follows.
const fromToken = "token "

// IsToken reports whether c has called with its user's issued token of that name.
func (c Caller) IsToken(name string) bool { return c.From == fromToken+name }

// IssuedTokens finds the issued token of a user by its name. known is false if there is none, as after it was revoked.
type IssuedTokens func(ctx context.Context, owner, name string) (token Issued, known bool, err error)

// issuedClaim names the issued token that a JWT is.
type issuedClaim struct {
	Name   string `json:"name"`
	Random string `json:"random"` // 128 bits or more: a token of the same name that was made earlier or later has another
}

// Issue makes the token that i describes: it sets its Digest and its Text.
func (t *Tokens) Issue(i *Issued) {
	random := rand.Text()
	i.Digest = digest(random)
	i.Text = t.sign(claims{Expires: i.Expires.Unix(), Issued: i.Created.Unix(), User: i.Owner, Token: &issuedClaim{i.Name, random}})
}

func digest(random string) []byte {
	sum := sha256.Sum256([]byte(random))
	return sum[:]
}

// issued is the caller of a token that was made for a person. Its signature and its time were checked before: a guess costs no look at the store.
func (i *Identity) issued(ctx context.Context, c claims, uid, gid uint32) (Caller, error) {
	revoked := fmt.Errorf("%s's token %q was revoked, or another was made in its place: sign in again (fsub login)", c.User, c.Token.Name)
	if i.issuedTokens == nil {
		return Caller{}, noCaller("this daemon keeps no tokens")
	}
	kept, known, err := i.issuedTokens(ctx, c.User, c.Token.Name)
	switch {
	case err != nil:
		return Caller{}, err
	case !known || subtle.ConstantTimeCompare(kept.Digest, digest(c.Token.Random)) != 1:
		return Caller{}, noCaller(revoked.Error())
	case kept.UID != uid:
		return Caller{}, noCaller(fmt.Sprintf("the token was made for uid %d, and %s is uid %d now", kept.UID, c.User, uid))
	}
	caller := Caller{Name: c.User, UID: uid, GID: gid, From: fromToken + kept.Name, Scope: kept.Scope, Expires: kept.Expires}
	if kept.Scope == ScopeOperate {
		caller.Role = min(i.roles.of(caller), RoleOperator)
	}
	return caller, nil
}

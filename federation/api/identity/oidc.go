package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"fsub/federation/api/identity/oidc"
)

// ofProvider is the user of an ID token. known: the token says that it is of the provider; whether it is, is verified then.
func (i *Identity) ofProvider(ctx context.Context, token string) (c Caller, known bool, err error) {
	if i.provider == nil || !claimsIssuer(token, i.provider.Issuer) {
		return c, false, nil
	}
	u, err := i.provider.Verify(ctx, token, "")
	if err != nil {
		return c, true, noCaller(err.Error())
	}
	c, err = i.SignedIn(u)
	return c, true, err
}

// SignedIn is the caller whom a verified token names: an ordinary user, who exists on this machine and is not root.
func (i *Identity) SignedIn(u oidc.User) (Caller, error) {
	c, err := i.Users.ordinary(u.Name, "oidc", fmt.Sprintf("%.64q of the OpenID provider", u.Subject))
	c.Expires = u.Expires
	return c, err
}

// claimsIssuer reports whether a token says that it is of an issuer.
func claimsIssuer(token, issuer string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Issuer string `json:"iss"`
	}
	return err == nil && json.Unmarshal(text, &claims) == nil && claims.Issuer == issuer
}

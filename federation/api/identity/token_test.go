package identity

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

func TestTokens(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tokens := NewTokens(bytes.Repeat([]byte("k"), 32))
	tokens.now = func() time.Time { return now }
	good := tokens.Make("alice", now.Add(time.Hour))
	if user, err := tokens.User(good); user != "alice" || err != nil {
		t.Fatalf("%q %v", user, err)
	}
	head, rest, _ := strings.Cut(good, ".")
	body, mac, _ := strings.Cut(rest, ".")
	enc := base64.RawURLEncoding.EncodeToString
	other := NewTokens(bytes.Repeat([]byte("x"), 32))
	none := enc([]byte(`{"alg":"none"}`)) + "." + body
	for name, bad := range map[string]string{
		"another key":     other.Make("alice", now.Add(time.Hour)),
		"no algorithm":    none + "." + enc(tokens.mac(none)),
		"without a MAC":   head + "." + body + ".",
		"another user":    head + "." + enc([]byte(`{"exp":9999999999,"iat":1,"sun":"root"}`)) + "." + mac,
		"nothing":         "",
		"no token":        "secret",
		"nobody's":        tokens.Make("", now.Add(time.Hour)),
		"expired":         tokens.Make("alice", now),
		"padding is none": good + "=",
	} {
		if user, err := tokens.User(bad); err == nil {
			t.Errorf("%s: taken as %q's", name, user)
		}
	}
}

func FuzzToken(f *testing.F) {
	tokens := NewTokens([]byte("key"))
	f.Add(tokens.Make("alice", time.Now().Add(time.Hour)))
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, token string) {
		if user, err := tokens.User(token); err == nil && user != "alice" {
			t.Errorf("%q is %q's", token, user)
		}
	})
}

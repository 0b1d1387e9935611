package slurm

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"fsub/federation"
)

// tokenLife is how long our tokens are valid. A token is used only while at least half of it is
// left, so that a clock that is off by some minutes does no harm.
const tokenLife = time.Hour

// tokens gives the token for each call: made from a key, or read from a file. It rereads the file when that changes.
type tokens struct {
	user string // "" until a token file has named it
	key  string // path
	file string // path

	mu     sync.Mutex
	token  string
	until  time.Time // of a token made by us
	stamp  string    // of the file that token comes from
	secret []byte
}

// get returns the user's name and a token, both "" where none is configured.
func (t *tokens) get(now time.Time) (user, token string, err error) {
	if t.key == "" && t.file == "" {
		return "", "", nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	content, changed, err := t.read()
	if err != nil {
		return "", "", err
	}
	if t.key != "" {
		if changed {
			t.secret, t.until = content, time.Time{}
		}
		if t.until.Sub(now) < tokenLife/2 {
			t.until = now.Add(tokenLife)
			t.token = sign(t.secret, t.user, now, t.until)
		}
		return t.user, t.token, nil
	}
	if changed {
		if err := t.take(string(content)); err != nil {
			return "", "", err
		}
	}
	return t.user, t.token, nil
}

// read returns the secret file's content if it has changed since the last time.
func (t *tokens) read() (content []byte, changed bool, err error) {
	path := t.key + t.file
	st, err := os.Stat(path)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %v", federation.ErrDenied, err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return nil, false, fmt.Errorf("%w: %s may be read by others (mode %04o); run: chmod 600 %s", federation.ErrDenied, path, st.Mode().Perm(), path)
	}
	stamp := fmt.Sprint(st.ModTime().UnixNano(), st.Size())
	if stamp == t.stamp {
		return nil, false, nil
	}
	content, err = os.ReadFile(path)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %v", federation.ErrDenied, err)
	}
	if len(content) == 0 {
		return nil, false, fmt.Errorf("%w: %s is empty", federation.ErrDenied, path)
	}
	t.stamp = stamp
	return content, true, nil
}

// take keeps the token of a file, which may be as "scontrol token" prints it, and learns from it whose it is.
func (t *tokens) take(content string) error {
	token := strings.TrimPrefix(strings.TrimSpace(content), "SLURM_JWT=")
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return fmt.Errorf("%w: %s holds no token; run: scontrol token username=slurm lifespan=... >%s", federation.ErrDenied, t.file, t.file)
	}
	var claims struct {
		Sun      string `json:"sun"`
		Username string `json:"username"`
	}
	if raw, err := base64.RawURLEncoding.DecodeString(parts[1]); err == nil {
		_ = json.Unmarshal(raw, &claims) // the site judges the token; we only want the name
	}
	t.token = token
	switch {
	case t.user != "":
	case claims.Sun != "":
		t.user = claims.Sun
	default:
		t.user = claims.Username
	}
	return nil
}

// name is the user whom the token names, "" where there is none.
func (t *tokens) name() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.user
}

// describe names the secret in messages, without showing it.
func (t *tokens) describe() string {
	switch {
	case t.key != "":
		return "token of " + t.user + " made from " + t.key
	case t.file != "":
		return "token in " + t.file
	}
	return "no token (neither key_file nor token_file is set)"
}

// sign makes a token as "scontrol token" does: HS256, claims exp, iat, sun.
func sign(secret []byte, user string, now, until time.Time) string {
	enc := base64.RawURLEncoding
	claims, _ := json.Marshal(map[string]any{"exp": until.Unix(), "iat": now.Unix(), "sun": user}) // cannot fail: numbers and a string
	head := enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc.EncodeToString(claims)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(head))
	return head + "." + enc.EncodeToString(mac.Sum(nil))
}

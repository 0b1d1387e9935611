package slurm

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/secret"
)

// tokenLife is how long our tokens are valid. A token is used only while at least half of it is
// left, so that a clock that is off by some minutes does no harm.
const tokenLife = time.Hour

// Bounds of a token that a command makes: how long it may take, and when it is run again after it has failed.
const (
	commandTime  = 20 * time.Second
	commandAgain = 30 * time.Second
)

// tokens gives the token for each call: made from a key, read from a file, or printed by a command. It rereads the file when that changes, and runs the
// command again when less than half of the token's life is left, or the site has refused the token.
type tokens struct {
	user    string // "" until a token has named it
	key     string // path
	file    string // path
	command []string
	only    bool // the token must be user's, who has one by the command

	mu     sync.Mutex
	token  string
	until  time.Time // when it expires, if it says so
	since  time.Time // when it was made, or first seen
	again  time.Time // no run of the command before this
	failed error     // why the command's last run made none
	bad    error     // why what the file has now is no token
	stamp  string    // of the file that token comes from
	secret []byte
}

// get returns the user's name and a token, both "" where none is configured.
func (t *tokens) get(now time.Time) (user, token string, err error) {
	if t.key == "" && t.file == "" && len(t.command) == 0 {
		return "", "", nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.command) > 0 {
		if t.stale(now) && !now.Before(t.again) {
			if t.failed = t.run(now); t.failed != nil {
				t.again = now.Add(commandAgain)
			}
		}
		if t.token == "" || t.failed != nil && !t.until.IsZero() && !now.Before(t.until) {
			return "", "", t.failed
		}
		return t.user, t.token, nil
	}
	content, changed, err := t.read()
	if err != nil {
		return "", "", err
	}
	if t.key != "" {
		if changed {
			t.secret, t.until = content, time.Time{}
		}
		if t.until.Sub(now) < tokenLife/2 {
			t.until, t.since = now.Add(tokenLife), now
			t.token = sign(t.secret, t.user, now, t.until)
		}
		return t.user, t.token, nil
	}
	if changed { // what is no token may be one that is being written: the one before counts as long as it is valid
		if t.bad = t.take(string(content), now); t.bad != nil {
			t.stamp = ""
		}
	}
	switch {
	case t.bad != nil && t.token == "":
		return "", "", t.bad
	case t.bad != nil && !t.until.IsZero() && !now.Before(t.until):
		return "", "", fmt.Errorf("%w; the one read before expired at %s", t.bad, t.until.UTC().Format(time.RFC3339))
	}
	return t.user, t.token, nil
}

// signed makes a token of its own from the key that get has read.
func (t *tokens) signed(user string, now, until time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return sign(t.secret, user, now, until)
}

// read returns the secret file's content if it has changed since the last time.
func (t *tokens) read() (content []byte, changed bool, err error) {
	path := t.key + t.file
	if err := secret.Check(path); err != nil {
		return nil, false, fmt.Errorf("%w: %w", federation.ErrDenied, err)
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", federation.ErrDenied, err)
	}
	stamp := fmt.Sprint(st.ModTime().UnixNano(), st.Size())
	if stamp == t.stamp {
		return nil, false, nil
	}
	content, err = os.ReadFile(path)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %v", federation.ErrDenied, err)
	}
	if len(content) == 0 && t.key != "" {
		if t.token != "" { // it is being written: what was there counts until it has been
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("%w: %s is empty", federation.ErrDenied, path)
	}
	t.stamp = stamp
	return content, true, nil
}

// stale reports whether a new token is to be made: there is none, less than half of its life is left, or it does not say when it expires and is old.
func (t *tokens) stale(now time.Time) bool {
	switch {
	case t.token == "":
		return true
	case t.until.IsZero():
		return now.Sub(t.since) > tokenLife/2
	}
	return t.until.Sub(now) < t.until.Sub(t.since)/2
}

// run has the command make a token.
func (t *tokens) run(now time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.command[0], t.command[1:]...)
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		err = t.take(string(out), now)
	}
	if err == nil && !t.until.IsZero() && !now.Before(t.until) {
		err = fmt.Errorf("it printed a token that expired at %s", t.until.UTC().Format(time.RFC3339))
	}
	if err != nil {
		kind, who := federation.ErrUnavailable, ""
		if t.only {
			who = " for " + t.user
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == noPermission {
				kind = federation.ErrDenied
			}
		}
		return fmt.Errorf("%w: token_command %s%s: %w: %.200s", kind, t.command[0], who, err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// noPermission is the exit status by which a command says that a user has no token, EX_NOPERM of sysexits.h. With others it may have failed for the moment: scontrol token
// ends with 1 where it does not reach slurmctld.
const noPermission = 77

// refused notes that the site does not take the token: a command makes another one. It reports whether there will be one.
func (t *tokens) refused(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.command) == 0 || now.Sub(t.since) <= commandAgain {
		return false
	}
	t.token = ""
	return true
}

// expires says when the token does, if that is soon and nothing renews it; "" otherwise. Soon is a quarter of its life, and a week at most.
func (t *tokens) expires(now time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.until.IsZero() || t.key != "" {
		return ""
	}
	at := t.until.UTC().Format(time.RFC3339)
	switch left := t.until.Sub(now); {
	case len(t.command) > 0 && t.failed != nil:
		return fmt.Sprintf("the token expires at %s, and no new one can be made: %v", at, t.failed)
	case t.file != "" && t.bad != nil:
		return fmt.Sprintf("%v; the one read before expires at %s", t.bad, at)
	case t.file != "" && left < min(t.until.Sub(t.since)/4, 7*24*time.Hour):
		return fmt.Sprintf("the token in %s expires at %s", t.file, at)
	}
	return ""
}

// ends is when a token expires that is not made here; zero: none does.
func (t *tokens) ends() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.key != "" {
		return time.Time{}
	}
	return t.until.UTC()
}

// take keeps a token, which may be as "scontrol token" prints it, and learns from it whose it is and when it expires.
func (t *tokens) take(content string, now time.Time) error {
	token := strings.TrimPrefix(strings.TrimSpace(content), "SLURM_JWT=")
	parts := strings.Split(token, ".")
	if len(parts) != 3 && t.file == "" {
		return errors.New("it printed no token; want what scontrol token prints")
	}
	if len(parts) != 3 {
		return fmt.Errorf("%w: %s does not hold a token (want SLURM_JWT=..., as scontrol token username=slurm lifespan=... prints)", federation.ErrDenied, t.file)
	}
	var claims struct {
		Sun      string `json:"sun"`
		Username string `json:"username"`
		Issued   int64  `json:"iat"`
	}
	if raw, err := base64.RawURLEncoding.DecodeString(parts[1]); err == nil {
		_ = json.Unmarshal(raw, &claims) // the site judges the token; we only want the name
	}
	if of := cmp.Or(claims.Sun, claims.Username); t.only && of != t.user {
		return fmt.Errorf("%w: it printed a token of user %q", federation.ErrDenied, of)
	}
	t.token, t.since = token, now
	t.until, _ = expiry(token)
	if issued := time.Unix(claims.Issued, 0); claims.Issued > 0 && issued.Before(now) {
		t.since = issued
	}
	t.user = cmp.Or(t.user, claims.Sun, claims.Username)
	return nil
}

// name is the user whom the token names, "" where there is none.
func (t *tokens) name() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.user
}

// noToken is what describe says where none is configured.
const noToken = "no token (key_file, token_file and token_command are not set)"

// describe names the secret in messages, without showing it.
func (t *tokens) describe() string {
	switch {
	case t.key != "":
		return "token of " + t.user + " made from " + t.key
	case t.file != "":
		return "token in " + t.file
	case t.only:
		return "token that " + t.command[0] + " makes for " + t.user
	case len(t.command) > 0:
		return "token that " + t.command[0] + " makes"
	}
	return noToken
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

package slurm

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

// secret writes a file that only we may read.
func keyFile(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTokenFromKey(t *testing.T) {
	key := "raw \x00 bytes\n"
	src := &tokens{user: "slurm", key: keyFile(t, key)}
	now := time.Unix(1_800_000_000, 0)
	user, token, err := src.get(now)
	if err != nil || user != "slurm" {
		t.Fatalf("%s, %v", user, err)
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("token %q", token)
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(parts[0] + "." + parts[1]))
	if base64.RawURLEncoding.EncodeToString(mac.Sum(nil)) != parts[2] {
		t.Error("the signature is not that of the key's raw bytes")
	}
	raw, _ := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Exp, Iat int64
		Sun      string
	}
	if err := json.Unmarshal(raw, &claims); err != nil || claims.Sun != "slurm" || claims.Iat != now.Unix() || claims.Exp != now.Add(time.Hour).Unix() {
		t.Errorf("claims %+v, %v", claims, err)
	}
	if _, again, _ := src.get(now.Add(10 * time.Minute)); again != token {
		t.Error("a token that is good for long is made anew")
	}
	if _, later, _ := src.get(now.Add(40 * time.Minute)); later == token {
		t.Error("a token of which less than half is left is used on")
	}
}

func TestKeyIsReadAgain(t *testing.T) {
	path := keyFile(t, "one")
	src := &tokens{user: "slurm", key: path}
	now := time.Unix(1_800_000_000, 0)
	_, before, _ := src.get(now)
	if err := os.WriteFile(path, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, after, err := src.get(now); err != nil || after == before {
		t.Errorf("a new key makes the same token: %v", err)
	}
}

func TestTokenFile(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	token := sign([]byte("k"), "carol", now, now.Add(time.Hour))
	path := keyFile(t, "SLURM_JWT="+token+"\n")
	src := &tokens{file: path}
	if user, got, err := src.get(now); err != nil || got != token || user != "carol" {
		t.Errorf("%s %q, %v", user, got, err)
	}
	next := sign([]byte("longer key"), "carol", now, now.Add(2*time.Hour))
	for _, half := range []string{"", next[:20]} {
		if err := os.WriteFile(path, []byte(half), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, got, err := src.get(now); err != nil || got != token {
			t.Errorf("while %q is being written: %q, %v", half, got, err)
		}
	}
	if text := src.expires(now); !strings.Contains(text, path+" does not hold a token (want SLURM_JWT=...") || !strings.Contains(text, "expires at 2027-01-15T09:00:00Z") {
		t.Errorf("told: %q", text)
	}
	if _, got, err := src.get(now.Add(2 * time.Hour)); err == nil || !strings.Contains(err.Error(), path+" does not hold a token (want SLURM_JWT=...") ||
		!strings.HasSuffix(err.Error(), "; the one read before expired at 2027-01-15T09:00:00Z") {
		t.Errorf("later: %q, %v", got, err)
	}
	if err := os.WriteFile(path, []byte(next), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, got, err := src.get(now); err != nil || got != next {
		t.Errorf("the file has changed and the old token is used: %v", err)
	}
}

func TestSecretsAreRefused(t *testing.T) {
	open := keyFile(t, "key")
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"readable": {Config{KeyFile: open}, "chmod 600 " + open},
		"missing":  {Config{KeyFile: "/does/not/exist"}, "/does/not/exist"},
		"empty":    {Config{KeyFile: keyFile(t, "")}, "is empty"},
		"no token": {Config{TokenFile: keyFile(t, "hello")}, "does not hold a token"},
	} {
		c.cfg.Name, c.cfg.URL = "alpha", "http://127.0.0.1:1"
		_, err := Open(c.cfg)
		if !errors.Is(err, federation.ErrDenied) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "alpha") {
			t.Errorf("%s: %v; want the site and %q", name, err, c.want)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, c := range map[string]Config{
		"needs a name": {URL: "http://x"},
		"http://HOST":  {Name: "a", URL: "x:6820"},
		"not both":     {Name: "a", URL: "http://x", KeyFile: "k", TokenFile: "t"},
		"job IDs":      {Name: "a", URL: "http://x", FirstID: 5, LastID: 4},
		"refuses larg": {Name: "a", URL: "http://x", LastID: 1 << 30},
	} {
		if _, err := Open(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", c, err, want)
		}
	}
}

// A command makes tokens: again when half of one's life is over, and when the site refuses it; a command that fails does no harm while the old one is good.
func TestTokenCommand(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	put := func(user string, until time.Time) string {
		token := sign([]byte("k"), user, now, until)
		if err := os.WriteFile(dir+"/token", []byte("SLURM_JWT="+token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return token
	}
	src := &tokens{command: []string{"cat", dir + "/token"}}
	if _, _, err := src.get(now); !errors.Is(err, federation.ErrUnavailable) || !strings.Contains(err.Error(), "No such file") {
		t.Errorf("a command that fails: %v", err)
	}
	now = now.Add(commandAgain)
	first := put("slurm", now.Add(10*time.Minute))
	if user, got, err := src.get(now); err != nil || got != first || user != "slurm" {
		t.Fatalf("%s %q, %v", user, got, err)
	}
	second := put("slurm", now.Add(20*time.Minute))
	if _, got, _ := src.get(now.Add(4 * time.Minute)); got != first {
		t.Error("a token that is good for long is made anew")
	}
	now = now.Add(6 * time.Minute)
	if _, got, _ := src.get(now); got != second {
		t.Error("a token of which less than half is left is used on")
	}
	third := put("slurm", now.Add(20*time.Minute))
	now = now.Add(time.Minute)
	if src.refused(now); src.token != "" {
		t.Error("a refused token is used on")
	}
	if _, got, _ := src.get(now); got != third {
		t.Error("after a refusal no new one is made")
	}
	os.Remove(dir + "/token")
	now = now.Add(15 * time.Minute)
	if _, got, err := src.get(now); err != nil || got != third || !strings.Contains(src.expires(now), "no new one can be made") {
		t.Errorf("while the old one is good: %v, %q", err, src.expires(now))
	}
	if _, _, err := src.get(now.Add(10 * time.Minute)); err == nil {
		t.Error("a token that has expired is used on")
	}
}

// The end of a token in a file is told before it comes, in the same words until then.
func TestExpiryIsForeseen(t *testing.T) {
	now := time.Now()
	src := &tokens{file: keyFile(t, sign([]byte("k"), "slurm", now, now.Add(30*24*time.Hour)))}
	src.get(now)
	if said := src.expires(now.Add(20 * 24 * time.Hour)); said != "" {
		t.Errorf("ten days before: %q", said)
	}
	week, day := src.expires(now.Add(24*24*time.Hour)), src.expires(now.Add(29*24*time.Hour))
	if week == "" || week != day || !strings.Contains(week, src.file) {
		t.Errorf("six days before %q, a day before %q", week, day)
	}
}

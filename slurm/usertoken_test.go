package slurm

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// Each user has the token that the command makes for the name, and no other. What is not about a job is asked with the reader's.
func TestEachUsersToken(t *testing.T) {
	dir := t.TempDir()
	put := func(file, user string) {
		if err := os.WriteFile(dir+"/"+file, []byte("SLURM_JWT="+sign([]byte("k"), user, time.Now(), time.Now().Add(time.Hour))+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("reader", "reader")
	put("al", "al")
	put("swapped", "root")
	f := newFake(t, "v0.0.42")
	var callers []string
	f.answers["DELETE /slurm/jobs/"] = func(w http.ResponseWriter, r *http.Request) {
		callers = append(callers, r.Header.Get(wire.HeaderUser))
		w.WriteHeader(http.StatusUnauthorized)
	}
	c := Config{Name: "a", URL: f.URL, User: "reader", Users: map[string]string{"alice": "al"}, TokenCommand: []string{"sh", "-c", `case $1 in
gone) exit 255 ;;
none) echo none of ours >&2; exit 77 ;;
esac
cat "` + dir + `/$1"`, "x", forUser}}
	d, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if user, _, err := d.c.tokens.get(time.Now()); err != nil || user != "reader" {
		t.Fatalf("reader: %q, %v", user, err)
	}
	kill := func(user string) error {
		return errors.Join(d.kill(d.onBehalf(context.Background(), federation.JobRef{User: user}), "cancel", wire.KillJobs{Jobs: []string{"1"}})...)
	}
	for user, want := range map[string]struct {
		kind error
		text string
	}{
		"alice":          {federation.ErrDenied, "makes for al:"},
		"":               {federation.ErrDenied, "token that sh makes:"},
		"nobody":         {federation.ErrUnavailable, "No such file"},
		"none":           {federation.ErrDenied, "none of ours"},
		"swapped":        {federation.ErrDenied, `a token of user "root"`},
		"gone":           {federation.ErrUnavailable, "for gone"},
		"x;rm -rf /":     {federation.ErrDenied, "no token can be asked for"},
		"-oProxyCommand": {federation.ErrDenied, "no token can be asked for"},
	} {
		if err := kill(user); !errors.Is(err, want.kind) || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%q: %v, want %v and %q", user, err, want.kind, want.text)
		}
	}
	if len(callers) != 2 || callers[0] == callers[1] {
		t.Errorf("slurmrestd was called as %q, want as al and as reader", callers)
	}
	// An old token that is refused is no user's last: another one is made.
	mine, err := d.c.users.of("al")
	if err != nil {
		t.Fatal(err)
	}
	mine.since = time.Now().Add(-2 * commandAgain)
	if err := kill("alice"); !errors.Is(err, federation.ErrUnavailable) || errors.Is(err, federation.ErrDenied) || mine.token != "" {
		t.Errorf("an old token is refused: %v, token %q", err, mine.token)
	}
	for want, c := range map[string]Config{
		"name in user":         {Name: "a", URL: f.URL, TokenCommand: c.TokenCommand},
		"do not set mode: pin": {Name: "a", URL: f.URL, User: "reader", Mode: federation.Pinned, TokenCommand: c.TokenCommand},
	} {
		if _, err := Open(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

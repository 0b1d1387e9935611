package agentapi

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestBootRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		want := Boot{
			URL: text.Draw(t, "url"), Pin: text.Draw(t, "pin"), Token: text.Draw(t, "token"), Agent: text.Draw(t, "agent"), Path: text.Draw(t, "path"),
			Metadata: text.Draw(t, "metadata"), Instance: text.Draw(t, "instance"), PowerOff: rapid.Bool().Draw(t, "poweroff"),
			Addr: text.Draw(t, "addr"), Hosts: text.Draw(t, "hosts"),
			Lease:   time.Duration(rapid.Int64Min(0).Draw(t, "lease")),
			Expires: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "expires"), 5).UTC(),
		}
		got, err := ParseBoot(want.Lines())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s\n%s", want.Lines(), d)
		}
	})
}

func TestParseBootRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"url":                       "line 1: no key=value",
		"url=x\nurls=y":             `line 2: unknown key "urls"`,
		"expires=SECRET":            "expires has a bad value",
		"token=\"SECRET":            "token is badly quoted",
		"lease=SECRET":              "lease has a bad value",
		"poweroff=SECRET":           "poweroff has a bad value",
		"# a comment\n\npoweroff=1": "line 3",
	} {
		_, err := ParseBoot([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: error %v, want %q and nothing of the value", text, err, want)
		}
	}
}

package traces

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

func job(id federation.JobID) *federation.Job {
	return &federation.Job{ID: id, Submit: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC), Attempt: 1}
}

const (
	theirs = "0af7651916cd43dd8448eb211c80319c"
	span   = "b7ad6b7169203331"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]bool{
		"00-" + theirs + "-" + span + "-01":                     true,
		"00-" + theirs + "-" + span + "-00":                     true,
		"42-" + theirs + "-" + span + "-01-more":                true, // a later version
		"00-" + theirs + "-" + span + "-01-more":                false,
		"ff-" + theirs + "-" + span + "-01":                     false,
		"00-" + strings.ToUpper(theirs) + "-" + span + "-01":    false,
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":    false,
		"00-" + theirs + "-" + strings.Repeat("0", 16) + "-01":  false,
		"00-" + theirs[:30] + "-" + span + "-01":                false,
		"00-" + theirs + "-" + span:                             false,
		"":                                                      false,
		"00-" + theirs + "-" + span + "-zz":                     false,
		"00-" + strings.Repeat("x", 1<<16) + "-" + span + "-01": false,
	} {
		id, ok := parse(text)
		if ok != want {
			t.Errorf("%.80q: %v, want %v", text, ok, want)
		}
		if asked := strings.Contains(text, "-01"); ok && id.asked != asked {
			t.Errorf("%.80q: sampled by the submitter: %v", text, id.asked)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("00-" + theirs + "-" + span + "-01")
	f.Fuzz(func(t *testing.T, text string) {
		if id, ok := parse(text); ok && (id.Trace == [16]byte{} || id.Parent == [8]byte{}) {
			t.Errorf("%q names nothing", text)
		}
	})
}

// TestEnvironment: a job's programs find the attempt's span, in the submitter's trace if there is one. What else the environment has stays.
func TestEnvironment(t *testing.T) {
	j := job(30000001)
	find := func(env []string) string {
		t.Helper()
		i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, "TRACEPARENT=") })
		if i < 0 || strings.Count(strings.Join(env, "\n"), "TRACEPARENT=") != 1 {
			t.Fatalf("environment %v", env)
		}
		return strings.TrimPrefix(env[i], "TRACEPARENT=")
	}
	mine := []string{"A=1", "TRACEPARENT=00-" + theirs + "-" + span + "-01", "B=2"}
	env := Environment("fed", 0, j, mine)
	got, ok := parse(find(env))
	want := IdentityOf("fed", j, mine)
	if !ok || got.Trace != want.Trace || got.Parent != want.attempt(j.ID, 1) || !got.asked || env[0] != "A=1" || env[1] != "B=2" || len(mine) != 3 {
		t.Errorf("environment %v", env)
	}
	j.Attempt = 2
	again, _ := parse(find(Environment("fed", 0, j, mine)))
	if again.Trace != got.Trace || again.Parent == got.Parent {
		t.Error("two attempts are two spans of one trace")
	}
	own, ok := parse(find(Environment("fed", 0, j, []string{"A=1"})))
	if !ok || own.asked || own.Trace == got.Trace {
		t.Errorf("a trace of its own: %+v %v", own, ok)
	}
	if other, _ := parse(find(Environment("other", 0, j, nil))); other.Trace == own.Trace {
		t.Error("two federations have one trace")
	}
}

// TestShare: of 20,000 traces the share is sampled, and each alike whenever it is asked.
func TestShare(t *testing.T) {
	for _, share := range []float64{0, 0.1, 0.5, 1} {
		n := 0
		for i := range 20_000 {
			id := IdentityOf("fed", job(federation.JobID(i)), nil)
			if id.Sampled(share) {
				n++
			}
			if id.Sampled(share) && !id.Sampled(min(share+0.1, 1)) {
				t.Fatal("sampled of a share, and not of a larger one")
			}
		}
		if got := float64(n) / 20_000; got < share-0.02 || got > share+0.02 {
			t.Errorf("share %v: %v are sampled", share, got)
		}
	}
}

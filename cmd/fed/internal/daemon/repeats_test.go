package daemon

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestRepeatsAreLeftOut(t *testing.T) {
	var out strings.Builder
	now := time.Now()
	log := slog.New(slog.NewTextHandler(&repeats{to: &out, now: func() time.Time { return now }}, nil))
	for range 120 {
		log.Error("write to the store", "err", "the database does not answer")
		log.Info("job ended")
		now = now.Add(time.Second)
	}
	log.Error("write to the store", "err", "the database does not answer")
	log.Error("write to the store", "err", "something else")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	count := map[string]int{}
	for _, l := range lines {
		_, rest, _ := strings.Cut(l, " ")
		count[rest]++
	}
	const away = `level=ERROR msg="write to the store" err="the database does not answer"`
	for text, want := range map[string]int{away: 1, away + " repeated=59": 2, `level=ERROR msg="write to the store" err="something else"`: 1, `level=INFO msg="job ended"`: 120} {
		if count[text] != want {
			t.Errorf("%q was written %d times, want %d", text, count[text], want)
		}
	}
}

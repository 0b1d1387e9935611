package logging

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestRepeatsAreLeftOut(t *testing.T) {
	for _, format := range []string{Text, JSON} {
		t.Run(format, func(t *testing.T) { testRepeats(t, format) })
	}
}

func testRepeats(t *testing.T, format string) {
	var out strings.Builder
	now := time.Now()
	to := &repeats{to: &out, json: format == JSON, now: func() time.Time { return now }}
	log := slog.New(slog.NewTextHandler(to, nil))
	sep := " "
	if to.json {
		log, sep = slog.New(slog.NewJSONHandler(to, nil)), ","
	}
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
		_, rest, _ := strings.Cut(l, sep)
		count[rest]++
	}
	away, again, other, info := `level=ERROR msg="write to the store" err="the database does not answer"`, " repeated=59", `level=ERROR msg="write to the store" err="something else"`, `level=INFO msg="job ended"`
	if to.json {
		away, again, other, info = `"level":"ERROR","msg":"write to the store","err":"the database does not answer"`, `,"repeated":59}`, `"level":"ERROR","msg":"write to the store","err":"something else"}`, `"level":"INFO","msg":"job ended"}`
	}
	once := away
	if to.json {
		once += "}"
	}
	for text, want := range map[string]int{once: 1, away + again: 2, other: 1, info: 120} {
		if count[text] != want {
			t.Errorf("%q was written %d times, want %d", text, count[text], want)
		}
	}
}

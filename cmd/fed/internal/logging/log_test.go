package logging

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestLevelsByComponentAndSite(t *testing.T) {
	var out strings.Builder
	l, err := New(&out, Text)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	l.levels.now = func() time.Time { return now }
	sites := l.Logger().With(Component, "sites")
	alpha, store := sites.With(Site, "alpha"), l.Logger().With(Component, "store")
	say := func() (said string) {
		out.Reset()
		for name, log := range map[string]*slog.Logger{"main": l.Logger(), "sites": sites, "alpha": alpha, "store": store} {
			for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn} {
				log.Log(t.Context(), level, fmt.Sprint(name, level, now.UnixNano())) // never the same twice
			}
		}
		for _, name := range []string{"main", "sites", "alpha", "store"} {
			for _, level := range []string{"DEBUG", "INFO", "WARN"} {
				if strings.Contains(out.String(), name+level) {
					said += " " + name + " " + level
					break
				}
			}
		}
		now = now.Add(time.Millisecond)
		return said[1:]
	}
	check := func(want string) {
		t.Helper()
		if got := say(); got != want {
			t.Errorf("said %s, want %s", got, want)
		}
	}
	set := func(by map[string]slog.Level) {
		t.Helper()
		if err := l.Levels().SetFor(by, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	check("main INFO sites INFO alpha INFO store INFO")
	l.Levels().Set(slog.LevelWarn)
	check("main WARN sites WARN alpha WARN store WARN")
	set(map[string]slog.Level{"site:alpha": slog.LevelDebug, "sites": slog.LevelInfo})
	check("main WARN sites INFO alpha DEBUG store WARN")
	set(map[string]slog.Level{All: slog.LevelDebug, "store": slog.LevelError})
	if got := say(); got != "main DEBUG sites DEBUG alpha DEBUG" {
		t.Errorf("said %s", got)
	}
	if err := l.Levels().SetFor(map[string]slog.Level{"stroe": slog.LevelDebug}, time.Minute); err == nil || !strings.Contains(err.Error(), "site:alpha, sites, store") {
		t.Errorf("a component that is none: %v", err)
	}
	now = now.Add(time.Hour) // it was for a minute
	check("main WARN sites WARN alpha WARN store WARN")
}

func TestRecentLinesAreWhole(t *testing.T) {
	var out strings.Builder
	l, err := New(&out, JSON)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20_000 {
		l.Logger().Info("a line of some length, that tells what a daemon has done just now", "number", i)
	}
	text := string(l.Recent())
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(text) > mostRecent || len(text) < mostRecent/2 {
		t.Errorf("%d bytes are remembered", len(text))
	}
	for i, line := range lines {
		var r struct{ Number int }
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Number != 20_000-len(lines)+i {
			t.Fatalf("line %d of %d: %q: %v", i, len(lines), line, err)
		}
	}
	if !strings.HasSuffix(out.String(), text) {
		t.Error("it is not the end of what was written")
	}
}

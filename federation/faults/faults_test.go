package faults

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A fault is told once when it begins and once when it ends, and is listed between the two with the time at which it began.
func TestFaultBeginsAndEnds(t *testing.T) {
	var log bytes.Buffer
	var wrong []Fault
	var told []string
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	w := New(Config{Sources: []func() []Fault{func() []Fault { return wrong }}, Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now },
		Tell: func(f Fault, over bool) {
			word := " begins"
			if over {
				word = " is over"
			}
			told = append(told, f.Name+word)
		}})
	w.Look()
	wrong = []Fault{{Name: "disk", Text: "62 MiB are free"}, {Name: "site b", Text: "it is silent", Logged: true}}
	w.Look()
	began := now
	now = now.Add(time.Minute)
	wrong[0].Text = "61 MiB are free"
	w.Look()
	if got := w.Faults(); len(got) != 2 || got[0].Text != "61 MiB are free" || !got[0].Since.Equal(began) {
		t.Errorf("got %+v", got)
	}
	wrong = nil
	w.Look()
	w.Look()
	if got := strings.Join(told, ", "); got != "disk begins, site b begins, disk is over, site b is over" {
		t.Errorf("told %q", got)
	}
	text := log.String()
	if strings.Count(text, "\n") != 2 || !strings.Contains(text, `level=ERROR msg="62 MiB are free"`) || !strings.Contains(text, `level=INFO msg="over: 61 MiB are free"`) {
		t.Errorf("logged:\n%s", text)
	}
	if got := w.Faults(); len(got) != 0 {
		t.Errorf("still %+v", got)
	}
}

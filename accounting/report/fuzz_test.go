package report

import (
	"strings"
	"testing"
	"time"
)

// FuzzSpan reads the days of a report, as users save them: the last is not before the first, both are days of a calendar, and an error names the word.
func FuzzSpan(f *testing.F) {
	for _, s := range []Spec{{}, {Last: "30d"}, {Last: "4w"}, {Last: "12m"}, {Since: "2026-01", Until: "2026-02-28"}, {Last: "9999999999d"}, {Last: "1d", Since: "2026-01"}, {Since: "0001-01-01"}} {
		f.Add(s.Since, s.Until, s.Last)
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, since, until, last string) {
		s := Spec{Since: since, Until: until, Last: last}
		from, end, err := s.Span(now)
		if err != nil {
			if said := err.Error(); !strings.Contains(said, "--") && !strings.Contains(said, "first day") {
				t.Errorf("%+v: %v", s, err)
			}
			return
		}
		if !from.Before(end) || from.Year() < 0 || end.Year() > 10000 || from.Truncate(24*time.Hour) != from || end.Truncate(24*time.Hour) != end {
			t.Errorf("%+v: from %v until %v", s, from, end)
		}
	})
}

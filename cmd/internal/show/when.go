package show

import (
	"strconv"
	"strings"
	"time"
)

// When reads a time of the past as sacct does: now, now-2hours, today, 08:30[:15],
// 2026-11-20[T08:30[:15]], 11/20[/26], uts1800000000. A time of day is today's, a day without a
// year this year's; all in now's zone.
func When(text string, now time.Time) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "uts"); ok {
		n, err := strconv.ParseInt(rest, 10, 64)
		return time.Unix(n, 0), err == nil
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(text), "now"); ok {
		d, ok := offset(rest)
		return now.Add(d), ok
	}
	day := midnight(now)
	switch strings.ToLower(text) {
	case "today", "midnight":
		return day, true
	case "tomorrow":
		return day.AddDate(0, 0, 1), true
	case "elevenses":
		return day.Add(11 * time.Hour), true
	case "noon":
		return day.Add(12 * time.Hour), true
	case "fika":
		return day.Add(15 * time.Hour), true
	case "teatime":
		return day.Add(16 * time.Hour), true
	}
	date, clock := cutDate(text)
	if date != "" {
		var ok bool
		if day, ok = parseDay(date, now); !ok {
			return time.Time{}, false
		}
	}
	if clock == "" {
		return day, date != ""
	}
	d, ok := parseClock(clock)
	return day.Add(d), ok
}

// offset reads what follows "now": nothing, "+90", "-2hours".
func offset(text string) (time.Duration, bool) {
	text = strings.ReplaceAll(text, " ", "")
	if text == "" {
		return 0, true
	}
	sign := time.Duration(1)
	switch text[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return 0, false
	}
	digits := len(text) - 1 - len(strings.TrimLeft(text[1:], "0123456789"))
	n, err := strconv.ParseInt(text[1:1+digits], 10, 32)
	if err != nil {
		return 0, false
	}
	unit, ok := unitOf(text[1+digits:])
	return sign * time.Duration(n) * unit, ok
}

func unitOf(word string) (time.Duration, bool) {
	for _, u := range []struct {
		name string
		d    time.Duration
	}{{"seconds", time.Second}, {"minutes", time.Minute}, {"hours", time.Hour}, {"days", 24 * time.Hour}, {"weeks", 7 * 24 * time.Hour}} {
		if strings.HasPrefix(u.name, word) { // the empty word is a second
			return u.d, true
		}
	}
	return 0, false
}

// cutDate splits "2026-11-20T08:30" at its T, blank or last dash; text with a colon first has no date.
func cutDate(text string) (date, clock string) {
	if i := strings.IndexAny(text, "T "); i >= 0 {
		return text[:i], strings.TrimSpace(text[i+1:])
	}
	if n := strings.Count(text, "-"); n == 3 || n == 1 && strings.ContainsAny(text, "/.") {
		i := strings.LastIndexByte(text, '-')
		return text[:i], text[i+1:]
	}
	if strings.Contains(text, ":") {
		return "", text
	}
	return text, ""
}

var dayLayouts = []string{"2006-01-02", "2006-1-2", "01/02/06", "1/2/06", "01/02/2006", "01.02.06", "010206"}

func parseDay(text string, now time.Time) (time.Time, bool) {
	for _, l := range dayLayouts {
		if t, err := time.ParseInLocation(l, text, now.Location()); err == nil {
			return t, true
		}
	}
	for _, l := range []string{"01/02", "1/2", "01.02", "0102"} {
		if t, err := time.ParseInLocation(l, text, now.Location()); err == nil {
			return time.Date(now.Year(), t.Month(), t.Day(), 0, 0, 0, 0, now.Location()), true
		}
	}
	return time.Time{}, false
}

func parseClock(text string) (time.Duration, bool) {
	for _, l := range []string{"15:04:05", "15:04", "3:04pm", "3:04 pm", "3:04PM", "3:04 PM"} {
		if t, err := time.Parse(l, text); err == nil {
			return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second, true
		}
	}
	return 0, false
}

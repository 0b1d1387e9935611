package report

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Dimensions are what reports tell apart.
var Dimensions = []string{"site", "account", "user", "qos", "partition", "gpu", "name", "group"}

// Formats are those that reports are written in, of which this package knows some.
var Formats = []string{"table", "csv", "json", "parquet", "html"}

// Spec is a report as it is asked for, in the words of fed report.
type Spec struct {
	Kind  string   `json:"kind"`
	By    []string `json:"by,omitempty"` // dimensions; "none" is none
	Every string   `json:"every,omitempty"`
	Since string   `json:"since,omitempty"` // YYYY-MM-DD or YYYY-MM: the first day; not set: the first of this month
	Until string   `json:"until,omitempty"` // likewise the last; not set: today
	Last  string   `json:"last,omitempty"`  // "30d", "4w", "12m": so much until today, instead of Since
	Where []string `json:"where,omitempty"` // KEY=VALUE[,VALUE...]
	// Running: runs that go on count too, as of now. nil: where the report tells of today.
	Running *bool `json:"running,omitempty"`
}

// mostLast is the largest number of Last: months of eighty years.
const mostLast = 1000

// Span are the days of the report: the first, and the one after the last.
func (s *Spec) Span(now time.Time) (from, until time.Time, err error) {
	today := now.UTC().Truncate(24 * time.Hour)
	from, until = today.AddDate(0, 0, 1-today.Day()), today.AddDate(0, 0, 1)
	if s.Last != "" {
		var n int
		var unit string
		if _, err := fmt.Sscanf(s.Last, "%d%s", &n, &unit); err != nil || n < 1 || n > mostLast || s.Since != "" {
			return from, until, fmt.Errorf(`invalid --last %q: want a number with d, w or m, as in "30d", and no --since`, s.Last)
		}
		switch unit {
		case "d":
			from = until.AddDate(0, 0, -n)
		case "w":
			from = until.AddDate(0, 0, -7*n)
		case "m":
			from = until.AddDate(0, -n, 0)
		default:
			return from, until, fmt.Errorf("invalid --last %q: want d, w or m after the number", s.Last)
		}
	}
	if s.Since != "" {
		if from, err = readDay(s.Since, "--since", false); err != nil {
			return from, until, err
		}
	}
	if s.Until != "" {
		if until, err = readDay(s.Until, "--until", true); err != nil {
			return from, until, err
		}
	}
	if !from.Before(until) {
		return from, until, fmt.Errorf("the report's first day %s is after its last, %s", from.Format(time.DateOnly), until.AddDate(0, 0, -1).Format(time.DateOnly))
	}
	return from, until, nil
}

// readDay reads a day or a month; end: the day after it.
func readDay(text, flag string, end bool) (time.Time, error) {
	days, months := 1, 0
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		days, months = 0, 1
		if t, err = time.Parse("2006-01", text); err != nil {
			return t, fmt.Errorf("invalid %s %q: want YYYY-MM-DD or YYYY-MM", flag, text)
		}
	}
	if end {
		t = t.AddDate(0, months, days)
	}
	return t, nil
}

// Ask is what the ledger is to be asked for the report (the query of GET /fed/v1/books/sums), and what [Make] is to make of the answer.
func (s *Spec) Ask(now time.Time) (Query, url.Values, error) {
	q, ask := Query{Kind: s.Kind, Every: s.Every, Now: now}, url.Values{}
	var err error
	if q.From, q.Until, err = s.Span(now); err != nil {
		return q, nil, err
	}
	for _, d := range s.By {
		if d != "none" && d != "" {
			q.By = append(q.By, strings.ToLower(d))
		}
	}
	ask.Set("by", strings.Join(q.By, ","))
	if k := kinds[s.Kind]; k != nil {
		ask.Set("sums", strings.Join(k.needs, ","))
	}
	may := kinds[s.Kind] != nil && kinds[s.Kind].running
	switch {
	case s.Running == nil:
		q.Running = may && q.Until.After(now)
	case *s.Running && !may:
		return q, nil, fmt.Errorf("a report of %s is of runs that have ended: leave out --running", s.Kind)
	default:
		q.Running = *s.Running
	}
	if q.Running {
		ask.Set("running", "1")
	}
	ask.Set("from", q.From.Format(time.DateOnly))
	ask.Set("until", q.Until.Format(time.DateOnly))
	switch {
	case s.Kind == "forecast":
		if s.Since != "" || s.Until != "" || s.Last != "" || s.Every != "" {
			return q, nil, fmt.Errorf("a forecast is of this month: leave out --since, --until, --last and --every")
		}
		ask.Set("every", "day")
		if first := now.UTC().AddDate(0, 0, -29); first.Before(q.From) {
			ask.Set("from", first.Format(time.DateOnly))
		}
	case s.Every == "week":
		ask.Set("every", "day")
	case s.Every == "" || s.Every == "day" || s.Every == "month":
		ask.Set("every", s.Every)
	default:
		return q, nil, fmt.Errorf("invalid --every %q: want day, week or month", s.Every)
	}
	for _, w := range s.Where {
		key, values, ok := strings.Cut(w, "=")
		if !ok || !slices.Contains(Dimensions, key) {
			return q, nil, fmt.Errorf("invalid --where %q: want KEY=VALUE with one of the keys of --by", w)
		}
		ask[key] = append(ask[key], strings.Split(values, ",")...)
	}
	return q, ask, nil
}

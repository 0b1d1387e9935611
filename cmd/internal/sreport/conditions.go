package sreport

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fsub/cmd/internal/assoc"
	"fsub/cmd/internal/show"
)

// conditions are what follows the name of a report.
type conditions struct {
	from, until            time.Time // midnights of UTC; until is the first moment that is not in it
	sites, accounts, users []string
	tres                   []string
	fields                 string
	top                    int
}

// readConditions reads "start=2026-11-01 accounts=physics". Without times it is yesterday, as in Slurm.
func readConditions(words []string, now time.Time) (*conditions, error) {
	today := now.UTC().Truncate(24 * time.Hour)
	k := &conditions{from: today.AddDate(0, 0, -1), until: today, top: 10}
	for i := 0; i < len(words); i++ {
		key, value, ok := strings.Cut(words[i], "=")
		if key = strings.ToLower(key); !ok && len(words) > i+1 && (key == "where" || key == "set") {
			continue
		}
		switch {
		case !ok && strings.HasPrefix("all_clusters", key), !ok && strings.HasPrefix("tree", key):
		case strings.HasPrefix("start", key), strings.HasPrefix("end", key):
			t, ok := show.When(value, now)
			if !ok {
				return nil, fmt.Errorf("Invalid time specification (pos=0): %s", value)
			}
			day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
			if strings.HasPrefix("start", key) {
				k.from = day
			} else if k.until = day; t.Hour()+t.Minute()+t.Second() > 0 {
				k.until = day.AddDate(0, 0, 1) // the books have whole days
			}
		case strings.HasPrefix("clusters", key):
			k.sites = assoc.Words(value)
		case strings.HasPrefix("accounts", key):
			k.accounts = assoc.Words(value)
		case strings.HasPrefix("users", key):
			k.users = assoc.Words(value)
		case key == "tres":
			k.tres = assoc.Words(value)
		case strings.HasPrefix("format", key):
			k.fields = value
		case strings.HasPrefix("topcount", key):
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("sreport: error: invalid topcount %q: want a number from 1 up", value)
			}
			k.top = n
		default:
			return nil, fmt.Errorf(" Unknown condition: %s", words[i])
		}
	}
	if !k.until.After(k.from) {
		return nil, fmt.Errorf("sreport: error: the report would end (%s) before it starts (%s)", k.until.Format(time.DateOnly), k.from.Format(time.DateOnly))
	}
	return k, nil
}

// format is the list of columns; with --tres each row names its TRES.
func (k *conditions) format(usual string, tres bool) string {
	switch {
	case k.fields != "":
		return k.fields
	case tres:
		return strings.TrimSuffix(usual, "used,energy") + "tresname,used"
	}
	return usual
}

// unit is how usage is written.
type unit struct {
	name    string
	seconds float64
}

// unitOf reads -t by the beginning of its word.
func unitOf(text string) (unit, error) {
	lower := strings.ToLower(text)
	switch {
	case text == "", strings.HasPrefix("minutes", lower):
		return unit{name: "Minutes", seconds: 60}, nil
	case strings.HasPrefix("seconds", lower):
		return unit{name: "Seconds", seconds: 1}, nil
	case strings.HasPrefix("hours", lower):
		return unit{name: "Hours", seconds: 3600}, nil
	}
	return unit{}, fmt.Errorf("sreport: error: unknown time format %q: want Seconds, Minutes or Hours; what a site could have been used for is not in the federation's books, so there are no percentages", text)
}

func (u unit) text(seconds int64) string {
	return strconv.FormatInt(int64(float64(seconds)/u.seconds+0.5), 10)
}

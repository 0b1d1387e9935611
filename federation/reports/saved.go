// Package reports keeps reports that are made again and again: [Saved] is one, with its schedule and what became of it, and [Runner] makes those that are due
// and delivers them, by mail or into a file. What a report is made of, and how it is written, others know.
package reports

import (
	"errors"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"

	"fsub/accounting/report"
	"fsub/federation/plain"
	"fsub/federation/records"
)

// Definition is what is asked for.
type Definition struct {
	Owner string // it shows what the owner may see when it is made
	UID   uint32 // the owner's, when it was saved
	Name  string
	report.Spec
	Format string
	Send   string   // day, week or month; "": only when it is asked for
	At     string   // "06:00", UTC: on each day, on Mondays, on the first of the month
	To     []string // addresses of mail; none: a file
	Made   time.Time
}

// State is what became of a report.
type State struct {
	For   time.Time // the moment of the schedule up to which it is delivered, or that had passed when it was saved
	Sent  time.Time // when it was delivered last; zero: never
	Where string    // to which addresses, or into which file
	Tried time.Time
	Tries int    // since it was delivered last
	Error string // of the last try
}

// Saved is a report that is made again and again. It is stored as it stands here.
type Saved struct {
	Definition `json:"definition"`
	State      `json:"state"`
}

// In are the saved reports that a store keeps.
func In(st records.Store) records.Set[Saved] {
	return records.Set[Saved]{Store: st, Kind: "report", Key: func(s *Saved) (owner, name *string) { return &s.Owner, &s.Name }}
}

// Kinds are the names of reports that can be saved.
func Kinds() []string { return append(slices.Clone(report.Kinds), "budget") }

// validAddress has nothing that a mail server may take for an address at another one, such as a%elsewhere.com@example.org, or for a command.
var validAddress = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+=~'&-]*@[A-Za-z0-9.-]+$`)

// ValidAddress reports whether mail may go to an address, whatever the domain.
func ValidAddress(to string) bool {
	a, err := mail.ParseAddress(to)
	return err == nil && a.Address == to && validAddress.MatchString(to)
}

const (
	mostTo    = 20
	defaultAt = "06:00"
)

// Check says what is wrong with a definition, and fills in what it leaves out. Mail goes to addresses of these domains; those of operators may have any.
func (d *Definition) Check(now time.Time, domains []string, operator bool) error {
	if !slices.Contains(Kinds(), d.Kind) {
		return fmt.Errorf("unknown report %q: want %s", d.Kind, strings.Join(Kinds(), ", "))
	}
	if !slices.Contains(report.Formats, d.Format) {
		return fmt.Errorf("unknown format %q: want %s", d.Format, strings.Join(report.Formats, ", "))
	}
	if d.Since != "" || d.Until != "" {
		return errors.New("a saved report has no --since and --until: it is of the day, week or month that is over when it is sent, or of --last")
	}
	for _, by := range d.By {
		if by != "none" && !slices.Contains(report.Dimensions, by) {
			return fmt.Errorf("invalid --by %q: want %s", by, strings.Join(report.Dimensions, ", "))
		}
	}
	if _, _, err := d.Ask(now); err != nil && d.Kind != "budget" {
		return err
	}
	for _, where := range d.Where {
		if err := plain.Check("--where", where, plain.MaxReason); err != nil {
			return err
		}
	}
	if d.Send != "" && !slices.Contains([]string{"day", "week", "month"}, d.Send) {
		return fmt.Errorf("invalid --send %q: want day, week or month", d.Send)
	}
	if d.At == "" {
		d.At = defaultAt
	}
	if _, err := time.Parse("15:04", d.At); err != nil {
		return fmt.Errorf("invalid --at %q: want HH:MM, UTC", d.At)
	}
	if len(d.To) > mostTo {
		return fmt.Errorf("%d addresses: want at most %d", len(d.To), mostTo)
	}
	for _, to := range d.To {
		if !ValidAddress(to) {
			return fmt.Errorf("invalid address %q: want NAME@DOMAIN", to)
		}
		if domain := strings.ToLower(to[strings.LastIndexByte(to, '@')+1:]); !operator && !slices.Contains(domains, domain) {
			return fmt.Errorf("mail to %s is for operators: others may send reports to %s (mail.domains of reports in the configuration)", to, strings.Join(domains, ", "))
		}
	}
	return nil
}

// Due is the last moment of the schedule that has come; zero: it has none.
func (d *Definition) Due(now time.Time) time.Time {
	now = now.UTC()
	at, _ := time.Parse("15:04", d.At)
	y, m, n := now.Date()
	moment := func(n int) time.Time { return time.Date(y, m, n, at.Hour(), at.Minute(), 0, 0, time.UTC) }
	var due time.Time
	switch d.Send {
	case "day":
		if due = moment(n); due.After(now) {
			due = due.AddDate(0, 0, -1)
		}
	case "week":
		if due = moment(n - (int(now.Weekday())+6)%7); due.After(now) {
			due = due.AddDate(0, 0, -7)
		}
	case "month":
		if due = moment(1); due.After(now) {
			due = due.AddDate(0, -1, 0)
		}
	}
	return due
}

// Next is the next moment of the schedule; zero: it has none.
func (d *Definition) Next(now time.Time) time.Time {
	due := d.Due(now)
	switch d.Send {
	case "day":
		return due.AddDate(0, 0, 1)
	case "week":
		return due.AddDate(0, 0, 7)
	case "month":
		return due.AddDate(0, 1, 0)
	}
	return due
}

// Question is what is asked at a moment of the schedule, and as of when: of the period that is over then, whenever it is asked.
func (d *Definition) Question(moment time.Time) (report.Spec, time.Time) {
	s, before := d.Spec, moment.UTC().AddDate(0, 0, -1)
	switch {
	case d.Send == "" || d.Kind == "forecast" || d.Kind == "budget":
		return s, moment
	case s.Last != "":
		return s, before
	case d.Send == "day":
		s.Since = before.Format(time.DateOnly)
	case d.Send == "week":
		s.Since = moment.UTC().AddDate(0, 0, -7).Format(time.DateOnly)
	case d.Send == "month":
		s.Since = before.Format("2006-01")
	}
	s.Until = before.Format(time.DateOnly)
	return s, moment
}

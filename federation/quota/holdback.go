package quota

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/decision"
)

// limit is what a job would pass: seconds of TRES, where it is about minutes.
type limit struct {
	bound
	until             time.Time // of a budget: the period ends
	used, held, wants int64
}

// lessens reports whether a job holds less of it the longer it has run.
func (l *limit) lessens() bool {
	return l.Limit.Measure == accounts.Minutes || l.Limit.Measure == accounts.RunMinutes
}

// byTime reports whether a job takes the more of it, the longer it may run.
func (l *limit) byTime() bool {
	return l.Limit.Measure == accounts.Money || l.lessens() || l.Limit.Measure == accounts.PeriodMinutes
}

// takes is what a job that is bound holds of it.
func (l *limit) takes(w *Want) int64 {
	switch l.Limit.Measure {
	case accounts.Jobs:
		return 1
	case accounts.Amount:
		return w.TRES[l.TRES]
	case accounts.Money:
		return int64(w.Cost)
	}
	return w.amount(l.TRES) * int64(w.Longest/time.Second)
}

// text is an amount of it in words.
func (l *limit) text(n int64) string {
	switch l.Limit.Measure {
	case accounts.Jobs:
		return fmt.Sprintf("%d jobs", n)
	case accounts.Amount:
		return l.TRES + "=" + l.number(n)
	case accounts.Money:
		return federation.Money(n).USD()
	}
	if l.TRES == accounts.Wall {
		return fmt.Sprintf("%d minutes", (n+59)/60)
	}
	return fmt.Sprintf("%d minutes of %s", (n+59)/60, l.TRES)
}

func (l *limit) number(n int64) string {
	if l.TRES == "mem" {
		return fmt.Sprintf("%dM", n)
	}
	return fmt.Sprint(n)
}

// cents is an amount that is enough, in dollars.
func cents(n int64) string {
	const cent = federation.Dollar / 100
	return federation.Money((n + cent - 1) / cent * cent).Text(2)
}

// value is the limit set to an amount, as an option of fed account and fed qos.
func (l *limit) value(n int64) string {
	value := ""
	switch {
	case l.Limit.Measure == accounts.Jobs:
		value = fmt.Sprint(n)
	case l.Limit.Measure == accounts.Amount:
		value = l.TRES + "=" + l.number(n)
	case l.Limit.Measure == accounts.Money:
		value = cents(n)
	case l.TRES == accounts.Wall:
		value = fmt.Sprint((n + 59) / 60)
	default:
		value = fmt.Sprintf("%s=%d", l.TRES, (n+59)/60)
	}
	if l.Period != "" {
		value += "/" + string(l.Period)
	}
	return l.Name + "=" + value
}

// holder is a job that holds some of a limit.
type holder struct {
	id    federation.JobID
	user  string
	takes int64
	ends  time.Time // at the latest; zero: nothing says when
}

func (h *holder) by() string {
	if h.ends.IsZero() {
		return ""
	}
	return ", ends by " + h.ends.UTC().Format("2006-01-02T15:04:05Z")
}

// mostDetails is how many of those who hold something are told one by one: there may be a hundred thousand, and the controller does nothing else meanwhile.
const mostDetails = 100

// Holdback says what keeps a job from being bound now, who holds it, and what would free it; nil if no limit does. ends is when a job has ended at the latest, zero
// if nothing says when.
func (b *Book) Holdback(now time.Time, w *Want, ends func(federation.JobID) time.Time) *decision.Holdback {
	no := b.Check(now, w)
	if no == nil {
		return nil
	}
	l := &no.limit
	out := &decision.Holdback{Kind: decision.HeldByLimit, Text: no.Text}
	if l.Period != "" {
		out.Kind = decision.HeldByBudget
	}
	if l.byTime() && l.wants > 0 {
		out.Text += "; the job may take " + l.text(l.wants)
	} else if l.Limit.Measure == accounts.Amount {
		out.Text += "; the job asks for " + l.number(l.wants)
	}
	holders := b.holders(l, ends)
	for i := range holders {
		h := &holders[i]
		if i == mostDetails {
			out.Details = append(out.Details, fmt.Sprintf("and %d more", len(holders)-i))
			break
		}
		holds := "runs"
		if l.Limit.Measure != accounts.Jobs {
			holds = "holds " + l.text(h.takes)
		}
		out.Details = append(out.Details, fmt.Sprintf("job %d of %s %s%s", h.id, h.user, holds, h.by()))
	}
	out.Free = b.frees(l, w, holders)
	return out
}

// holders are the jobs that hold some of a limit, the first to end first.
func (b *Book) holders(l *limit, ends func(federation.JobID) time.Time) (all []holder) {
	if l.held == 0 {
		return nil
	}
	for id, h := range b.holds {
		n := l.takes(&h.want)
		if l.lessens() {
			n = int64(float64(n-l.takes(&Want{TRES: h.want.TRES, Longest: min(h.lasted.Ran, h.want.Longest)})) * h.factor)
		}
		if n > 0 && slices.Contains(h.keys, l.key) {
			all = append(all, holder{id, h.want.User, n, ends(id)})
		}
	}
	slices.SortFunc(all, func(x, y holder) int {
		switch {
		case x.ends.IsZero() != y.ends.IsZero() && y.ends.IsZero():
			return -1
		case x.ends.IsZero() != y.ends.IsZero():
			return 1
		}
		return cmp.Or(x.ends.Compare(y.ends), cmp.Compare(x.id, y.id))
	})
	return all
}

// frees are the ways out: what ends, a new period, asking for less, a higher limit.
func (b *Book) frees(l *limit, w *Want, holders []holder) (out []string) {
	left := l.Most - l.used - l.held
	if l.byTime() && left > 0 && l.wants > left && w.Longest > 0 {
		kill := federation.KillTime
		if l.Limit.Scope == accounts.PerJob { // which is about the time limit alone
			kill = 0
		}
		fits := (time.Duration(float64(w.Longest-federation.KillTime+kill)*float64(left)/float64(l.wants)) - kill).Truncate(time.Minute)
		if fits > 0 {
			out = append(out, fmt.Sprintf("with --time=%d:%02d:00 or less it takes at most %s", int(fits.Hours()), int(fits.Minutes())%60, l.text(left)))
		}
	}
	possible := l.wants <= l.Most
	if possible && l.wants <= l.Most-l.used { // what ends gives back what it did not use
		out = append(out, l.ending(holders, l.wants-left))
	}
	switch {
	case possible && !l.until.IsZero():
		out = append(out, fmt.Sprintf("on %s the next %s begins", l.until.UTC().Format("2006-01-02"), l.Period))
	case possible && l.Limit.Measure == accounts.Minutes && l.used > 0 && b.halfLife > 0:
		out = append(out, fmt.Sprintf("usage counts half as much every %g days", b.halfLife.Hours()/24))
	}
	if l.wants > 0 {
		out = append(out, fmt.Sprintf("with %s of %s", l.value(l.used+l.held+l.wants), l.set.Key))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// ending names the jobs that must end first until so much is free.
func (l *limit) ending(holders []holder, need int64) string {
	var names []string
	var last time.Time
	for i := range holders {
		if need <= 0 {
			break
		}
		need -= holders[i].takes
		names = append(names, holders[i].id.String())
		last = holders[i].ends
	}
	if len(names) == 0 || need > 0 {
		return ""
	}
	verb, when := "ends", ""
	if len(names) > 1 {
		verb = "end"
	}
	if !last.IsZero() {
		when = ", by " + last.UTC().Format("2006-01-02T15:04:05Z")
	}
	const shown = 4
	text := strings.Join(names[:min(len(names), shown)], ", ")
	if n := len(names) - shown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	if l.byTime() {
		return fmt.Sprintf("when %s %s%s: the part of %s that it does not use is free again", text, verb, when, l.text(sumOf(holders[:len(names)])))
	}
	return fmt.Sprintf("when %s %s%s", text, verb, when)
}

func sumOf(holders []holder) (n int64) {
	for i := range holders {
		n += holders[i].takes
	}
	return n
}

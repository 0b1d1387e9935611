package quota

import (
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/reasons"
)

// check is one job that is compared with the limits that hold for it.
type check struct {
	*Book
	*subject
	now   time.Time
	want  *Want
	alone bool // as if there were no other jobs
}

func (b *Book) check(now time.Time, w *Want) *check {
	return &check{Book: b, subject: b.subjects.in(b.books.Tree(), w), now: now, want: w}
}

// Misused is what a user's job must not name, by the account tree: see [accounts.Tree.Misused]. Unlike most methods it may be called at any time.
func (b *Book) Misused(user, account, qos string) (kind accounts.Kind, is bool) {
	return b.books.Tree().Misused(user, account, qos)
}

// Denies says why a job must not even be submitted: its QOS has the flag DenyOnLimit, and by itself the job passes how long one may run, or what one,
// a user, an account or a group may hold at once or use in all. Nil: it may be submitted. As in slurmctld, neither what was used counts nor how many
// jobs there are: these make it wait. Unlike most methods it may be called at any time.
func (b *Book) Denies(w *Want) *Refusal {
	c := (&Book{books: b.books}).check(time.Time{}, w)
	if c.qos == nil || !c.qos.Flag("DenyOnLimit") {
		return nil
	}
	c.alone = true
	return c.first(func(m accounts.Measure) bool {
		return m == accounts.Amount || m == accounts.Minutes || m == accounts.RunMinutes
	})
}

// Limited reports whether any limit holds for a job with this user, account, QOS and payer once it is bound. Nothing else of w is looked at.
func (b *Book) Limited(w *Want) bool { return len(b.subjects.in(b.books.Tree(), w).bounds()) > 0 }

// Check says why a job must not be bound now; nil if it may. What is not known of the job yet, such as its cost before there is an offer, is not held
// against it.
func (b *Book) Check(now time.Time, w *Want) *Refusal {
	b.decay(now)
	return b.check(now, w).first(func(m accounts.Measure) bool { return m != accounts.Submitted })
}

// first is the first limit that the job passes, of those with some measures.
func (c *check) first(of func(accounts.Measure) bool) *Refusal {
	for _, b := range c.bounds() {
		if !of(b.Limit.Measure) {
			continue
		}
		if l, passes := c.compare(b); passes {
			return &Refusal{Reason: reasons.Reason(b.Reason(b.set.Kind)), Text: c.text(&l), limit: l}
		}
	}
	return nil
}

// compare compares the job with a bound. It passes none of what it does not ask for.
func (c *check) compare(b bound) (l limit, passes bool) {
	l = limit{bound: b}
	w, asks := c.want, int64(1)
	switch s := c.heldBy(b.key); b.Limit.Measure {
	case accounts.Jobs:
		l.held, l.wants = s.jobs, 1
	case accounts.Amount:
		l.held, l.wants = s.tres[b.TRES], w.TRES[b.TRES]
		asks = l.wants
	case accounts.Money:
		l.used, l.held, l.wants = c.inPeriod(&b), s.of(b.Bound), int64(w.Cost)
		if b.Most > 0 { // with nothing to spend it must wait, whatever it may cost
			asks = l.wants
		}
		passes = b.Most == 0
	default:
		var longest int64
		l.used, l.held, longest = c.seconds(&b)
		asks = w.amount(b.TRES)
		l.wants = asks * longest
		passes = w.Longest == 0
	}
	if b.Limit.Scope == accounts.PerJob {
		l.used, l.held = 0, 0
	}
	if b.Period != "" {
		l.until = b.Period.End(c.now)
	}
	return l, asks > 0 && (passes || l.used+l.held+l.wants > b.Most)
}

// seconds is how many seconds of a TRES are used and reserved, and the longest that the job may run, as the measure of a bound counts them. A job by
// itself may end after its time limit.
func (c *check) seconds(b *bound) (used, held, longest int64) {
	switch w := c.want; {
	case c.alone || b.Limit.Scope == accounts.PerJob:
		return 0, 0, int64(max(w.Longest-federation.KillTime, 0) / time.Second)
	case b.Limit.Measure == accounts.PeriodMinutes:
		return c.inPeriod(b), c.heldBy(b.key).of(b.Bound), int64(w.Longest / time.Second)
	}
	used, held, longest = c.usage(b.key, b.TRES)
	if b.Limit.Measure == accounts.RunMinutes {
		used = 0
	}
	return used, held, longest
}

// inPeriod is what was used of a budget since its period began.
func (c *check) inPeriod(b *bound) int64 {
	return sumSince(c.daysFor(b.key, b.Bound), dayOf(b.Period.Start(c.now))).of(b.Bound)
}

// amount is what a job holds of a TRES.
func (w *Want) amount(name string) int64 {
	if name == accounts.Wall {
		return 1
	}
	return w.TRES[name]
}

// text says which limit the job passes.
func (c *check) text(l *limit) string {
	text := l.who(c.alone) + " " + l.may()
	switch l.Limit.Measure {
	case accounts.Amount:
		if l.Limit.Scope != accounts.PerJob && !c.alone {
			text += fmt.Sprintf(", and holds %d", l.held)
		}
		return text
	case accounts.Money:
		return text + fmt.Sprintf(": %s is spent, and %s reserved", federation.Money(l.used).USD(), federation.Money(l.held).USD())
	case accounts.Jobs:
		return text
	}
	switch {
	case c.alone || l.Limit.Scope == accounts.PerJob:
	case l.Limit.Measure == accounts.RunMinutes:
		text += fmt.Sprintf(": %d are reserved", l.held/60)
	default:
		text += fmt.Sprintf(": %d are used, and %d reserved", l.used/60, l.held/60)
	}
	if c.want.Longest == 0 {
		text += "; the job has no time limit: set --time"
	}
	return text
}

// who is whose jobs a limit bounds, in words.
func (b *bound) who(alone bool) string {
	switch {
	case b.Limit.Scope == accounts.PerJob:
		return "a job of " + b.set.Key.String()
	case b.Limit.Scope == accounts.PerUser:
		return "a user"
	case b.Limit.Scope == accounts.PerAccount:
		return "an account"
	case alone:
		return "all jobs of " + b.key.String() + " together"
	case b.Limit.Measure == accounts.RunMinutes:
		return "running jobs of " + b.key.String()
	}
	return b.key.String()
}

// may is what a limit allows, in words.
func (b *bound) may() string {
	within := ""
	if b.Limit.Scope == accounts.PerUser || b.Limit.Scope == accounts.PerAccount {
		within = " in " + b.set.Key.String()
	}
	switch b.Limit.Measure {
	case accounts.Jobs:
		return fmt.Sprintf("may run %d jobs%s", b.Most, within)
	case accounts.Submitted:
		return fmt.Sprintf("may have %d jobs%s that have not ended", b.Most, within)
	case accounts.Amount:
		return fmt.Sprintf("may hold %s=%d%s", b.TRES, b.Most, within)
	case accounts.Money:
		return fmt.Sprintf("may spend %s this %s", federation.Money(b.Most).USD(), b.Period)
	case accounts.PeriodMinutes:
		within += " this " + string(b.Period)
	}
	if b.TRES == accounts.Wall {
		return fmt.Sprintf("may run for %d minutes%s", b.Most/60, within)
	}
	return fmt.Sprintf("may use %d minutes of %s%s", b.Most/60, b.TRES, within)
}

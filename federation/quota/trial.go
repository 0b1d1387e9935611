package quota

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// Trial is a copy of a [Book], in which is played what would become of jobs: [federation.Limits].
type Trial struct {
	book   *Book
	share  float64
	prices map[federation.SiteName]map[string]float64
}

// fixed is a tree that nobody edits.
type fixed struct{ tree *accounts.Tree }

func (f fixed) Tree() *accounts.Tree { return f.tree }

// Trial copies what counts for the limits of some jobs. Share and prices are those of [WantOf].
func (b *Book) Trial(now time.Time, jobs []federation.Prospect, share float64, prices map[federation.SiteName]map[string]float64) *Trial {
	b.decay(now)
	t := b.books.Tree()
	keys := map[accounts.Key]bool{}
	for i := range jobs {
		j := jobs[i].Job
		for _, k := range keysOf(t, j.User, t.Account(j.User, j.Spec.Account), j.Spec.QOS) {
			keys[k] = true
		}
	}
	return &Trial{b.clone(t, func(k accounts.Key) bool { return keys[k] }), share, prices}
}

// clone returns a copy under another tree, with what some records have used.
func (b *Book) clone(t *accounts.Tree, of func(accounts.Key) bool) *Book {
	c := New(fixed{t}, b.halfLife)
	c.at, c.holds = b.at, maps.Clone(b.holds)
	for k, s := range b.held {
		c.held[k] = &held{s.jobs, maps.Clone(s.tres), maps.Clone(s.seconds), maps.Clone(s.less), s.cost}
	}
	for k, days := range b.days {
		if of(k) {
			c.days[k] = copyDays(days)
		}
	}
	c.Booked = b.Booked.copied(of)
	for k, slow := range b.slow {
		if of(k) {
			c.slow[k] = maps.Clone(slow)
		}
	}
	c.countAll() // the limits of t may be about others
	return c
}

func copyDays(days map[int64]*used) map[int64]*used {
	c := make(map[int64]*used, len(days))
	for d, u := range days {
		c[d] = &used{maps.Clone(u.seconds), u.cost}
	}
	return c
}

// With implements [federation.Limits].
func (t *Trial) With(limits, qos []string) (federation.Limits, error) {
	var edits []accounts.Edit
	for _, text := range limits {
		e, err := limitEdit(text, "ACCOUNT:OPTION=VALUE or ACCOUNT/USER:OPTION=VALUE, as physics:GrpTRES=gres/gpu=64", func(name string) accounts.Key {
			if account, user, of := strings.Cut(name, "/"); of {
				return accounts.Key{Kind: accounts.User, Account: account, Name: user}
			}
			return accounts.AccountKey(name)
		})
		if err != nil {
			return nil, err
		}
		edits = append(edits, e)
	}
	for _, text := range qos {
		e, err := limitEdit(text, "QOS:OPTION=VALUE, as high:MaxJobsPerUser=4", accounts.QOSKey)
		if err != nil {
			return nil, err
		}
		edits = append(edits, e)
	}
	now := t.book.books.Tree()
	for _, e := range edits {
		if now.Get(e.Key) == nil {
			return nil, fmt.Errorf("no %s in the federation; see: fed %s list", e.Key, map[bool]string{true: "qos", false: "account"}[e.Kind == accounts.QOS])
		}
	}
	next, _, err := now.Apply(edits, accounts.Editor{Operator: true})
	if err != nil {
		return nil, err
	}
	return &Trial{t.book.clone(next, func(accounts.Key) bool { return true }), t.share, t.prices}, nil
}

// limitEdit reads NAME:OPTION=VALUE.
func limitEdit(text, want string, key func(string) accounts.Key) (e accounts.Edit, err error) {
	name, set, ok := strings.Cut(text, ":")
	option, value, also := strings.Cut(set, "=")
	if !ok || !also || name == "" || option == "" {
		return e, fmt.Errorf("invalid limit %q: want %s", text, want)
	}
	k := key(strings.ToLower(name)) // see accounts.Name
	o, err := accounts.OptionOf(k.Kind, option)
	if err == nil && !holdsBack(o) || err != nil && !errors.Is(err, accounts.ErrShort) {
		var may []string
		for i := range accounts.Options {
			if o := &accounts.Options[i]; holdsBack(o) && slices.Contains(o.Of, k.Kind) {
				may = append(may, o.Name)
			}
		}
		return e, fmt.Errorf("limit %q: %s keeps no job waiting: want one of %s", text, option, strings.Join(may, ", "))
	}
	if err != nil {
		return e, fmt.Errorf("limit %q: %w", text, err)
	}
	return accounts.Edit{Op: accounts.Modify, Key: k, Set: map[string]string{o.Name: value}}, nil
}

// holdsBack reports whether an option keeps jobs waiting.
func holdsBack(o *accounts.Option) bool {
	return o.Limit != nil && o.Limit.Measure != accounts.Submitted
}

// Check implements [federation.Limits].
func (t *Trial) Check(now time.Time, j *federation.Job, o *decision.Offer) reasons.Reason {
	if _, sent := t.book.holds[j.ID]; sent {
		return ""
	}
	w := t.want(j, o)
	if no := t.book.Check(now, &w); no != nil {
		return no.Reason
	}
	return ""
}

func (t *Trial) want(j *federation.Job, o *decision.Offer) Want {
	if o == nil {
		return WantOf(j, nil, nil, t.share)
	}
	return WantOf(j, o, t.prices[o.Site], t.share)
}

// Start implements [federation.Limits].
func (t *Trial) Start(now time.Time, j *federation.Job, o *decision.Offer) {
	h, sent := t.book.holds[j.ID]
	if !sent {
		w := t.want(j, o)
		h = holdOf(t.book.books.Tree(), &w)
		t.book.add(&h, 1)
	}
	h.want.Since = now
	t.book.holds[j.ID] = h
}

// End implements [federation.Limits].
func (t *Trial) End(now time.Time, id federation.JobID) {
	h, ok := t.book.holds[id]
	if !ok {
		return
	}
	t.book.add(&h, -1)
	t.book.count(t.book.books.Tree(), &h, -1)
	delete(t.book.holds, id)
	since := h.want.Since
	if !h.lasted.Since.IsZero() { // it did not run as soon as it was bound
		since = h.lasted.Since
	}
	lasted := max(now.Sub(since), 0)
	t.book.charge(h.keys, h.want.TRES, lasted, h.want.costAfter(lasted), now)
}

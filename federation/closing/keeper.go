// Package closing closes accounts at sites while their budgets are used up, where BudgetClose of the account tree says so: their jobs, those that users submit at the site itself too, do not
// start there until there is money again. [Keeper] does it, [Closed] is what it remembers of an account that it has closed.
//
// What a site had before is written down before the site is told, so that a daemon that is killed at any point goes on where it was: nothing stays closed for ever, and nothing is opened that
// somebody else has closed.
package closing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/audit"
	"fsub/federation/driver"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/federation/quota"
)

const (
	every = 5 * time.Second
	// again is when a site is asked again that could not be told, and idle when one that had nothing to close.
	again = time.Minute
	idle  = 10 * time.Minute
)

// Config is what a Keeper is made of.
type Config struct {
	Tree func() *accounts.Tree
	// Budgets are how budgets stand, and Stand reports whether that is of the tree as it is now.
	Budgets func() []quota.Standing
	Stand   func() bool
	Sites   func() map[federation.SiteName]driver.AccountKeeper
	Closed  *Store
	Commit  func(context.Context, *journal.Batch) error // of findings, which events tell
	Notify  func(health.Finding)
	Logger  *slog.Logger
	Now     func() time.Time // nil: time.Now
}

// Keeper closes accounts and opens them again. It is for one goroutine.
type Keeper struct {
	Config
	later map[place]time.Time // when to look again
}

// place is an account at a site.
type place struct {
	site federation.SiteName
	key  accounts.Key
}

// New returns a Keeper.
func New(c Config) *Keeper {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Keeper{Config: c, later: map[place]time.Time{}}
}

// Run does it until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			k.Round(ctx)
		}
	}
}

// Round brings the sites to what is wanted of them now. What fails is tried again in a later one.
func (k *Keeper) Round(ctx context.Context) {
	if !k.Stand() {
		return
	}
	all, err := k.Closed.List(ctx)
	if err != nil {
		k.Logger.Warn("close accounts of used budgets", "err", err)
		return
	}
	sites := k.Sites()
	want := k.wanted(slices.Collect(maps.Keys(sites)))
	have := map[place]*Closed{}
	todo := map[federation.SiteName][]place{}
	for i := range all {
		c := &all[i]
		p := place{c.Site, c.Key}
		have[p] = c
		if _, wanted := want[p]; wanted && c.State == Held {
			continue
		}
		todo[c.Site] = append(todo[c.Site], p)
	}
	for p := range want {
		if have[p] == nil {
			todo[p.site] = append(todo[p.site], p)
		}
	}
	now := k.Now()
	maps.DeleteFunc(k.later, func(_ place, t time.Time) bool { return !now.Before(t) })
	for _, site := range slices.Sorted(maps.Keys(todo)) {
		due := slices.DeleteFunc(todo[site], func(p place) bool { return now.Before(k.later[p]) })
		if len(due) == 0 {
			continue
		}
		for _, p := range due {
			k.later[p] = now.Add(again)
		}
		if sites[site] == nil {
			for _, p := range due {
				k.later[p] = now.Add(idle)
			}
			k.Logger.Warn("accounts of used budgets are closed at a site that is not in the federation: open them there", "site", site, "accounts", keys(due))
			continue
		}
		if err := k.at(ctx, sites[site], due, want, have); err != nil && ctx.Err() == nil {
			k.Logger.Warn("close accounts of used budgets", "site", site, "err", err)
		}
	}
}

func keys(all []place) (list []string) {
	for _, p := range all {
		list = append(list, p.key.String())
	}
	slices.Sort(list)
	return list
}

// wanted are the accounts that should be closed, each with the reason.
func (k *Keeper) wanted(sites []federation.SiteName) map[place]string {
	out, tree := map[place]string{}, k.Tree()
	for _, s := range k.Budgets() {
		r := tree.Get(s.Key)
		if r == nil || s.Used+s.Running < s.Limit {
			continue
		}
		at := strings.Split(r.Set[accounts.BudgetClose], ",")
		for _, site := range sites {
			if slices.Contains(at, accounts.CloseAll) || slices.Contains(at, string(site)) {
				out[place{site, s.Key}] = spent(&s)
			}
		}
	}
	return out
}

// spent says how a budget is used up.
func spent(s *quota.Standing) string {
	if s.Of != "" {
		return fmt.Sprintf("it has used %.0f of %.0f minutes of %s this %s", s.Used+s.Running, s.Limit, s.Of, s.Period)
	}
	return fmt.Sprintf("it has spent $%.2f of $%.2f this %s", s.Used+s.Running, s.Limit, s.Period)
}

// at does what is due at one site.
func (k *Keeper) at(ctx context.Context, keeper driver.AccountKeeper, due []place, want map[place]string, have map[place]*Closed) error {
	at, err := keeper.ReadAccounts(ctx)
	if err != nil {
		return err
	}
	if !at.Limits {
		return fmt.Errorf("%w: its slurmrestd does not tell limits: set account_command in the site's configuration", federation.ErrInvalid)
	}
	slices.SortFunc(due, func(a, b place) int { return strings.Compare(a.key.String(), b.key.String()) })
	var failed []error
	for _, p := range due {
		why, wanted := want[p]
		a := account{k, keeper, at, p, have[p]}
		if now, there := value(at, p.key); a.closed == nil && (!there || now == Shut) { // somebody else has closed it: it is theirs to open
			k.later[p] = k.Now().Add(idle)
			continue
		}
		if err := a.step(ctx, wanted, why); err != nil {
			failed = append(failed, err)
			continue
		}
		delete(k.later, p)
	}
	return errors.Join(failed...)
}

// account is one at a site, as the site was read, and what is remembered of it; nil: nothing.
type account struct {
	*Keeper
	site driver.AccountKeeper
	at   *accounts.Import
	place
	closed *Closed
}

// value is what the site has; there: it has the account.
func value(at *accounts.Import, k accounts.Key) (value string, there bool) {
	i := slices.IndexFunc(at.Records, func(r accounts.Record) bool { return r.Key == k })
	if i < 0 {
		return "", false
	}
	return at.Records[i].Set[Option], true
}

func (a *account) step(ctx context.Context, wanted bool, why string) error {
	now, there := value(a.at, a.key)
	c := a.closed
	switch {
	case c == nil:
		return a.close(ctx, now, why)
	case !there:
		return a.forget(ctx, "the site does not have it any more")
	case now == Shut && wanted: // it was told, or it is to stay so
		return a.shut(ctx, c)
	case now == Shut:
		return a.open(ctx)
	case now == c.Before && c.State == Opening:
		return a.opened(ctx)
	case now == c.Before && c.State == Closing && wanted:
		return a.close(ctx, now, why)
	case now == c.Before && c.State == Closing: // it never was
		return a.forget(ctx, "")
	}
	return a.forget(ctx, "somebody has set "+valued(now)+" meanwhile: it stays so")
}

// close closes the account. That it will be, and what it had before, is durable first.
func (a *account) close(ctx context.Context, before, why string) error {
	c := &Closed{Site: a.place.site, Key: a.key, State: Closing, Before: before, At: a.Now().UTC(), Why: why}
	if err := a.Closed.put(ctx, c); err != nil {
		return err
	}
	if err := a.tell(ctx, Shut); err != nil {
		return err
	}
	return a.shut(ctx, c)
}

// shut notes that the account is closed.
func (a *account) shut(ctx context.Context, c *Closed) error {
	fresh := c.State == Closing
	c.State = Held
	var did []audit.Entry
	if fresh {
		did = append(did, a.entry("close", valued(c.Before), valued(Shut), c.Why))
	}
	if err := a.Closed.put(ctx, c, did...); err != nil || !fresh {
		return err
	}
	return a.say(ctx, fmt.Sprintf("%s is closed at %s: %s", a.key, c.Site, c.Why))
}

// open gives the account what it had before.
func (a *account) open(ctx context.Context) error {
	a.closed.State = Opening
	if err := a.Closed.put(ctx, a.closed); err != nil {
		return err
	}
	value := a.closed.Before
	if value == "" {
		value = "-1"
	}
	if err := a.tell(ctx, value); err != nil {
		return err
	}
	return a.opened(ctx)
}

func (a *account) opened(ctx context.Context) error {
	c := a.closed
	if err := a.Closed.remove(ctx, c, a.entry("open", valued(Shut), valued(c.Before), "")); err != nil {
		return err
	}
	return a.say(ctx, fmt.Sprintf("%s is open again at %s", a.key, c.Site))
}

// forget leaves the account as it is at the site.
func (a *account) forget(ctx context.Context, why string) error {
	c := a.closed
	if why == "" {
		return a.Closed.remove(ctx, c)
	}
	if err := a.Closed.remove(ctx, c, a.entry("open", valued(Shut), "", why)); err != nil {
		return err
	}
	return a.say(ctx, fmt.Sprintf("%s was closed at %s: %s", a.key, c.Site, why))
}

// tell sets the option at the site and looks whether that was done: an accounting may answer well and do nothing.
func (a *account) tell(ctx context.Context, to string) error {
	if err := a.site.Sacctmgr(ctx, a.at.Modify(a.key, Option+"="+to)); err != nil {
		return err
	}
	at, err := a.site.ReadAccounts(ctx)
	if err != nil {
		return err
	}
	if is, _ := value(at, a.key); is != strings.TrimPrefix(to, "-1") {
		return fmt.Errorf("%w: %s was to get %s=%s, and the site still has %s", federation.ErrConflict, a.key, Option, to, valued(is))
	}
	return nil
}

func (a *account) entry(verb, before, after, why string) audit.Entry {
	object := a.key.Name
	if a.key.Kind == accounts.User {
		object = a.key.Account + "/" + object
	}
	at := string(a.place.site)
	if after != "" {
		after += " at " + at
	}
	return audit.Entry{At: a.Now().UTC(), Who: audit.Daemon, Verb: verb, Kind: audit.Object(a.key.Kind), Object: object, Before: before + " at " + at, After: after, Why: why}
}

// say tells people: the log, events, webhooks, and what the configuration names. What is done is durable already.
func (a *account) say(ctx context.Context, text string) error {
	a.Logger.Info("accounts of used budgets", "site", a.place.site, "said", text)
	now := a.Now().UTC()
	if a.Notify != nil {
		a.Notify(health.Finding{At: now, Rule: accounts.BudgetClose, Act: health.ActNotify, Why: text})
	}
	if a.Commit == nil {
		return nil
	}
	return a.Commit(ctx, &journal.Batch{Findings: []health.PastFinding{{At: now, Rule: accounts.BudgetClose, Act: string(health.ActNotify), Why: text}}})
}

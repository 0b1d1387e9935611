package closing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/audit"
	"fsub/federation/closing"
	"fsub/federation/driver"
	"fsub/federation/quota"
	"fsub/federation/records"
)

var physics = accounts.AccountKey("physics")

var errKilled = errors.New("killed")

// world is a site's accounting and a daemon's store. die is the number of writes, to either, after which the daemon is killed; in the middle of the next one if half is set: then
// that is done, and nobody hears of it.
type world struct {
	*testing.T
	kept    map[string]records.Record
	account string // GrpJobs of physics; "": no limit
	used    float64
	tree    *accounts.Tree
	die     int
	half    bool
	deaf    bool // the site answers well and does nothing
}

func newWorld(t *testing.T, close string) *world {
	w := &world{T: t, kept: map[string]records.Record{}, account: "50"}
	w.closes(close)
	return w
}

func (w *world) closes(at string) {
	w.Helper()
	tree, err := accounts.New([]accounts.Record{{Key: physics, Parent: accounts.Root, Set: accounts.Settings{"Budget": "100/month", accounts.BudgetClose: at}}})
	if err != nil {
		w.Fatal(err)
	}
	w.tree = tree
}

// write is one write that may be the last.
func (w *world) write(do func() error) error {
	w.die--
	switch {
	case w.die == -1 && w.half:
		do()
		return errKilled
	case w.die < 0 && w.die > -1000: // it is dead
		return errKilled
	}
	return do()
}

func (w *world) Records(context.Context, string, string) ([]records.Record, error) {
	return slices.Collect(maps.Values(w.kept)), nil
}

func (w *world) PutRecord(_ context.Context, r *records.Record, _ ...audit.Entry) error {
	return w.write(func() error { w.kept[r.Owner+" "+r.Name] = *r; return nil })
}

func (w *world) RemoveRecord(_ context.Context, _, owner, name string, _ ...audit.Entry) error {
	return w.write(func() error { delete(w.kept, owner+" "+name); return nil })
}

func (w *world) ReadAccounts(context.Context) (*accounts.Import, error) {
	set := accounts.Settings{}
	if w.account != "" {
		set["GrpJobs"] = w.account
	}
	return &accounts.Import{Cluster: "alpha", Limits: true, Records: []accounts.Record{{Key: physics, Parent: accounts.Root, Set: set}}}, nil
}

func (w *world) Sacctmgr(_ context.Context, words []string) error {
	prefix := "modify account where Name=physics Cluster=alpha set GrpJobs="
	value, ok := strings.CutPrefix(strings.Join(words, " "), prefix)
	if !ok {
		w.Errorf("the site was told: %q", words)
	}
	return w.write(func() error {
		if !w.deaf {
			w.account = strings.TrimPrefix(value, "-1")
		}
		return nil
	})
}

// daemon is a daemon that has just started.
func (w *world) daemon() *closing.Keeper {
	w.die = -1000
	return closing.New(closing.Config{
		Tree: func() *accounts.Tree { return w.tree }, Stand: func() bool { return true },
		Budgets: func() []quota.Standing {
			return []quota.Standing{{Key: physics, Period: "month", Limit: 100, Used: w.used}}
		},
		Sites: func() map[federation.SiteName]driver.AccountKeeper {
			return map[federation.SiteName]driver.AccountKeeper{"alpha": w}
		},
		Closed: closing.In(w), Logger: slog.New(slog.DiscardHandler),
	})
}

func (w *world) remembered() []closing.Closed {
	w.Helper()
	all, err := closing.In(w).List(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return all
}

func (w *world) is(when, account string, closed int) {
	w.Helper()
	if all := w.remembered(); w.account != account || len(all) != closed {
		w.Errorf("%s: the site has GrpJobs=%q, want %q; remembered: %+v", when, w.account, account, all)
	}
}

func TestClosesAndOpens(t *testing.T) {
	for _, before := range []string{"50", ""} {
		w := newWorld(t, "all")
		w.account = before
		k := w.daemon()
		round := func(when string, used float64, account string, closed int) {
			t.Helper()
			w.used = used
			k.Round(t.Context())
			w.is(when, account, closed)
		}
		round("there is money", 99, before, 0)
		round("used up", 100, "0", 1)
		round("still", 120, "0", 1)
		round("more money", 50, before, 0)
		round("used up again", 100, "0", 1)
		w.closes("beta")
		round("it is not to be closed here any more", 100, before, 0)
		w.closes("beta,alpha")
		round("here, too", 100, "0", 1)
		w.account = "7"
		round("somebody has set it", 100, "7", 1)
		round("and it stays so", 0, "7", 0)
	}
}

// What somebody has closed already is theirs to open.
func TestClosedByOthers(t *testing.T) {
	w := newWorld(t, "all")
	w.account, w.used = "0", 100
	k := w.daemon()
	k.Round(t.Context())
	w.is("used up", "0", 0)
	w.used = 0
	k.Round(t.Context())
	w.is("there is money again", "0", 0)
}

// A site that answers well and does nothing is not taken for closed.
func TestDeafSite(t *testing.T) {
	w := newWorld(t, "all")
	w.used, w.deaf = 100, true
	w.daemon().Round(t.Context())
	if all := w.remembered(); len(all) != 1 || all[0].State != closing.Closing {
		t.Errorf("remembered: %+v", all)
	}
	w.deaf = false
	w.daemon().Round(t.Context())
	w.is("it hears again", "0", 1)
}

// Wherever the daemon is killed, and whatever has become of the budget when it is back, the account ends as it should be: closed, or as it was before.
func TestKilledAnywhere(t *testing.T) {
	for _, before := range []string{"50", "", "0"} {
		for first := range 8 {
			for second := range 8 {
				for bits := range 32 {
					w := newWorld(t, "all")
					w.account = before
					bit := func(n int) bool { return bits&(1<<n) != 0 }
					live := func(die int, half, used bool) {
						k := w.daemon()
						w.used = map[bool]float64{true: 100}[used]
						w.die, w.half = die, half
						k.Round(t.Context())
					}
					name := fmt.Sprintf("before %q, killed after %d and %d writes, %05b", before, first, second, bits)
					w.used = 100
					live(first, bit(0), true)
					live(second, bit(1), bit(2))
					live(1000, false, bit(3)) // the store must be whole again
					k := w.daemon()
					for range 3 { // one that lives
						w.used = map[bool]float64{true: 100}[bit(4)]
						k.Round(t.Context())
					}
					want, remembered := before, 0
					if bit(4) && before != "0" {
						want, remembered = "0", 1
					}
					if w.is(name, want, remembered); t.Failed() {
						return
					}
				}
			}
		}
	}
}

// An account that is closed looks as the tree has it to a comparison, or as it was.
func TestHide(t *testing.T) {
	w := newWorld(t, "all")
	w.account, w.used = "50", 100
	w.daemon().Round(t.Context())
	all := w.remembered()
	at, _ := w.ReadAccounts(t.Context())
	closing.Hide(at, w.tree, "alpha", all)
	if found := w.tree.Compare(at, func(accounts.Key) bool { return true }); len(found) != 0 {
		t.Errorf("differences: %+v", found)
	}
	empty, _ := accounts.New(nil)
	at, _ = w.ReadAccounts(t.Context())
	closing.Hide(at, empty, "alpha", all)
	if i := slices.IndexFunc(at.Records, func(r accounts.Record) bool { return r.Set["GrpJobs"] == "50" }); i < 0 {
		t.Errorf("an import would bring in %+v", at.Records)
	}
	if text := all[0].Text(); !strings.Contains(text, "account physics is closed at alpha since "+time.Now().UTC().Format("2006")) || !strings.HasSuffix(text, "(GrpJobs=0, before GrpJobs=50): it has spent $100.00 of $100.00 this month") {
		t.Error(text)
	}
}

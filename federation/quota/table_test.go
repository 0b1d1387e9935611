package quota

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/reasons"
)

// notLimits are options that sound like limits and are none.
var notLimits = map[string]string{
	"BudgetWarn":   "a level of a budget, at which it is reported",
	"BudgetSoft":   "a level of a budget, from which on jobs go last",
	"BudgetCounts": "what counts for budgets",
	"BudgetClose":  "where an account is closed by a used budget",
	"BudgetEnd":    "how long jobs may run on, once a budget is used up",
}

// Each option that bounds something is enforced: a job that passes it waits, with the reason of the table, and so it does until the limit is what is
// said to let it start.
func TestEachLimitOfTheTableHolds(t *testing.T) {
	for i := range accounts.Options {
		o := &accounts.Options[i]
		if o.Limit == nil {
			if sounds := strings.HasPrefix(o.Name, "Max") || strings.HasPrefix(o.Name, "Grp") || strings.HasPrefix(o.Name, "Budget"); sounds != (notLimits[o.Name] != "") {
				t.Errorf("%s is no limit: give it one, or a reason here", o.Name)
			}
			continue
		}
		// What jobs have used so far is counted for whole records: see [Book.Ran].
		if byUse := o.Limit.Measure > accounts.Amount; byUse && o.Limit.Scope != accounts.PerJob && o.Limit.Scope != accounts.PerGroup {
			t.Errorf("%s: nothing counts what has been used in its scope", o.Name)
		}
		for _, kind := range o.Of {
			t.Run(fmt.Sprint(o.Name, "/", kind), func(t *testing.T) { passLimit(t, o, kind) })
		}
	}
}

func passLimit(t *testing.T, o *accounts.Option, kind accounts.Kind) {
	k := map[accounts.Kind]accounts.Key{accounts.Account: accounts.AccountKey("physics"), accounts.User: accounts.UserKey("physics", "alice"), accounts.QOS: accounts.QOSKey("high")}[kind]
	value := ""
	for _, try := range []string{"1", "0", "gres/gpu=0", "0/month", "gres/gpu=0/month"} { // no time is no limit, one minute is
		if v, err := o.Value("", try); err == nil && v != "" && (try != "1" || strings.HasSuffix(o.Name, "Wall")) {
			value = v
		}
	}
	edits := []accounts.Edit{add(accounts.AccountKey("physics")), add(accounts.UserKey("physics", "alice")), add(accounts.QOSKey("high"))}
	i := slices.IndexFunc(edits, func(e accounts.Edit) bool { return e.Key == k })
	w := Want{User: "alice", Account: "physics", QOS: "high", TRES: accounting.TRES{"gres/gpu": 4}, Longest: time.Hour, Cost: federation.Dollar}
	book := tree(t, edits...)
	if no := passed(book, &w); no != nil {
		t.Fatalf("without a limit: %+v", no)
	}
	edits[i].Set[o.Name] = value
	book = tree(t, edits...)
	bounds := book.t.Get(k).Bounds()
	if len(bounds) != 1 || bounds[0].Option != o {
		t.Fatalf("%s=%s is read as %+v", o.Name, value, bounds)
	}
	no := passed(book, &w)
	if want := reasons.Reason(bounds[0].Reason(kind)); no == nil || no.Reason != want || strings.ContainsAny(string(want), "@*") {
		t.Fatalf("%s=%s: %+v, want %s", o.Name, value, no, want)
	}
	if o.Limit.Measure == accounts.Submitted {
		return
	}
	free := New(book, 0).Holdback(start, &w, func(federation.JobID) time.Time { return time.Time{} }).Free
	said, _, _ := strings.Cut(strings.TrimPrefix(free[len(free)-1], "with "), " of ")
	name, enough, _ := strings.Cut(said, "=")
	if name != o.Name {
		t.Fatalf("%s=%s is said to be freed by %q", o.Name, value, free)
	}
	edits[i].Set[o.Name] = enough
	if no := passed(tree(t, edits...), &w); no != nil {
		t.Errorf("%s is said to be enough, and is not: %+v", said, no)
	}
}

// passed says which limit a job passes, at its submission or later.
func passed(books books, w *Want) *Refusal {
	s := NewSubmits(books)
	s.Limited()
	if no := s.Check(s.Of(Submitter{w.User, w.Account, w.QOS}), 1); no != nil {
		return no
	}
	return New(books, 0).Check(start, w)
}

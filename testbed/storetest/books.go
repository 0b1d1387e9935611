package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"fsub/accounting"
	book "fsub/accounting/ledger"
	"fsub/federation"
)

// books opens the ledger of a store of its own.
func (e *env) books(dir string) Store {
	s, err := e.suite.Open(dir, 0, 0)
	e.must(err)
	e.Cleanup(func() { s.Close() })
	return s
}

const secondsOfDay = 24 * 3600

// someRuns are runs of a few months in the words of sites and of charges, some of them corrected later, some by both.
func someRuns(r *rand.Rand, n int) (all []book.Entry) {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	for i := range n {
		e := book.Entry{
			ID:     book.ID{Site: pick("elbe", "rhein"), Kind: book.SiteJob, Job: int64(1 + r.IntN(n)), At: 1.7e9 + r.Int64N(100*secondsOfDay)},
			Source: book.FromSite, ReadAt: int64(i), State: pick("COMPLETED", "FAILED", "REQUEUED", "TIMEOUT"), CPUUsed: r.Int64N(1000) - 1, GPUUsed: -1,
			TRES: pick("cpu=4,mem=100M,node=1,billing=4", "cpu=8,gres/gpu:h100=8,gres/gpu=8,node=2", "cpu=1,gres/gpu:a100=1"), Wait: r.Int64N(1e5), Limit: 7200,
		}
		e.Start = e.At + e.Wait
		e.End = e.Start + r.Int64N(1+int64(r.IntN(3))*30*secondsOfDay/10)
		e.Suspended = r.Int64N(1 + e.Elapsed()/4)
		e.PerHour = accounting.Money(len(e.TRES) * 123_457)
		e.Group = book.Group{Site: e.Site, Account: pick("bio", "chem", "ml"), User: pick("alice", "bob", "carol"), QOS: pick("normal", "high"), Partition: "batch",
			GPU: map[bool]string{true: "h100"}[strings.Contains(e.TRES, "h100")], Name: pick("train", "eval", "sweep-#"), JobGroup: pick("", "", "nightly")}
		e.Fate = book.FateOf(e.State, 0, -1)
		all = append(all, e)
		switch r.IntN(4) {
		case 0: // corrected
			e.ReadAt += 1000
			e.End += r.Int64N(1000)
			all = append(all, e)
		case 1: // one of ours, which the charge tells too
			e.Kind, e.At = book.OwnJob, e.Start
			all[len(all)-1] = e
			e.Source, e.PerHour, e.ReadAt = book.FromRun|book.Priced, 7_000_001, 0
			e.Amount = e.PerHour.For(0)
			all = append(all, e)
		}
	}
	return all
}

func sumsBy(e *env, b book.Books, q book.SumQuery) map[string]book.Sums {
	e.Helper()
	rows, err := b.BookedSums(ctx, q)
	e.must(err)
	out := map[string]book.Sums{}
	for i := range rows {
		key := fmt.Sprint(rows[i].Period, rows[i].Fate)
		for _, v := range rows[i].Values {
			key += "|" + v
		}
		s := out[key]
		s.Add(&rows[i].Sums, 1)
		out[key] = s
	}
	maps.DeleteFunc(out, func(_ string, s book.Sums) bool { return s.Zero() })
	return out
}

func total(all map[string]book.Sums) (t book.Sums) {
	for _, s := range all {
		t.Add(&s, 1)
	}
	return t
}

const someDay, lastDay = 1_700_000_000 / secondsOfDay, 1_700_000_000/secondsOfDay + 200

// The ledger says the same in whatever order it is told, however often, and in whatever portions.
func testBooksOrder(e *env) {
	r := rand.New(rand.NewPCG(1, 2))
	runs := someRuns(r, 700)
	everything := book.SumQuery{From: someDay - 1, Until: lastDay, By: book.Dimensions, Every: book.Daily}
	var want map[string]book.Sums
	for i := range 4 {
		b := e.books(e.TempDir())
		told := slices.Clone(runs)
		if i > 0 {
			told = append(told, runs[:r.IntN(len(runs))]...)
			r.Shuffle(len(told), func(i, j int) { told[i], told[j] = told[j], told[i] })
		}
		for len(told) > 0 {
			n := min(len(told), 1+r.IntN(400))
			_, err := b.Book(ctx, told[:n], nil)
			e.must(err)
			told = told[n:]
		}
		got := sumsBy(e, b, everything)
		if i == 0 {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			e.Fatalf("the same runs told otherwise (-first +%d): %s", i, diff)
		}
		got = maps.Clone(got)
		for _, site := range []federation.SiteName{"elbe", "rhein"} { // what is summed is what the runs come to
			e.must(b.BookedRuns(ctx, string(site), 0, 1<<40, func(x *book.Entry) error {
				tres, err := accounting.ParseTRES(x.TRES)
				x.Days(tres, func(day int64, s book.Sums) {
					key := fmt.Sprintf("%d%v|%s|%s|%s|%s|%s|%s|%s|%s", day, x.Fate, x.Group.Site, x.Group.Account, x.Group.User, x.Group.QOS, x.Group.Partition, x.Group.GPU, x.Group.Name, x.Group.JobGroup)
					key = strings.Replace(key, fmt.Sprint(day)+x.Fate.String(), fmt.Sprint(day, x.Fate), 1)
					sum := got[key]
					if sum.Add(&s, -1); sum.Zero() {
						delete(got, key)
					} else {
						got[key] = sum
					}
				})
				return err
			}))
		}
		if len(got) > 0 {
			e.Fatalf("the sums have %d lines that the runs do not account for: %v", len(got), got)
		}
	}
}

// Every grouping, every period and every split of the time adds up to the same.
func testBooksTotals(e *env) {
	r := rand.New(rand.NewPCG(3, 4))
	b := e.books(e.dir)
	_, err := b.Book(ctx, someRuns(r, 600), map[string]string{"site/elbe": "17"})
	e.must(err)
	if mark, err := b.BooksMark(ctx, "site/elbe"); err != nil || mark != "17" {
		e.Errorf("mark is %q, %v", mark, err)
	}
	for range 60 {
		from := int64(someDay) - 40 + r.Int64N(150)
		until := from + r.Int64N(120)
		want := total(sumsBy(e, b, book.SumQuery{From: from, Until: until, Every: book.Daily}))
		for _, every := range []book.Period{book.Altogether, book.Monthly, book.Daily} {
			by := book.Dimensions[r.IntN(len(book.Dimensions))]
			if got := total(sumsBy(e, b, book.SumQuery{From: from, Until: until, Every: every, By: []book.Dimension{by}})); got != want {
				e.Fatalf("days %d to %d by %s, every %q: %+v, want %+v", from, until, by, every, got, want)
			}
		}
		cut := from + r.Int64N(until-from+1)
		split := total(sumsBy(e, b, book.SumQuery{From: from, Until: cut}))
		rest := total(sumsBy(e, b, book.SumQuery{From: cut, Until: until}))
		if split.Add(&rest, 1); split != want {
			e.Fatalf("days %d to %d in two parts: %+v, want %+v", from, until, split, want)
		}
	}
	all := book.SumQuery{From: 0, Until: lastDay}
	whole := total(sumsBy(e, b, all))
	var parts book.Sums
	for _, user := range []string{"alice", "bob", "carol"} {
		all.Where = map[book.Dimension][]string{book.ByUser: {user}}
		s := total(sumsBy(e, b, all))
		parts.Add(&s, 1)
	}
	if parts != whole || whole.Zero() {
		e.Errorf("users come to %+v, all to %+v", parts, whole)
	}
	all.Where, all.By, all.Within = nil, []book.Dimension{book.ByUser, book.ByAccount}, &book.Scope{User: "bob", Accounts: []string{"ml"}}
	for key := range sumsBy(e, b, all) {
		if !strings.Contains(key, "|bob|") && !strings.HasSuffix(key, "|ml") {
			e.Errorf("bob, who coordinates ml, sees %s", key)
		}
	}
}

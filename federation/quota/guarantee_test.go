package quota

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
)

// What is held of guarantees, and who holds more, is what a count of all live jobs gives: of those bound before it, the job that is over is lent.
func TestGuaranteesAreThoseOfLiveJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edits := []accounts.Edit{add(accounts.AccountKey("p"), "Guarantee", "gres/gpu=20"), add(accounts.AccountKey("d"))}
		for _, name := range []string{"a", "b"} {
			e := add(accounts.AccountKey(name), "Guarantee", fmt.Sprintf("gres/gpu=%d,cpu=40", rapid.IntRange(0, 10).Draw(t, name)))
			e.Parent = "p"
			edits = append(edits, e, add(accounts.UserKey(name, "u")))
		}
		edits = append(edits, add(accounts.UserKey("d", "u")))
		book := New(tree(t, edits...), 0)
		live := map[federation.JobID]Want{}
		for id := range federation.JobID(rapid.IntRange(1, 40).Draw(t, "steps")) {
			if len(live) > 0 && rapid.IntRange(0, 2).Draw(t, "ends") == 0 {
				gone := slices.Sorted(func(yield func(federation.JobID) bool) {
					for id := range live {
						if !yield(id) {
							return
						}
					}
				})[0]
				book.Release(gone)
				delete(live, gone)
			} else {
				w := Want{User: "u", Account: rapid.SampledFrom([]string{"a", "b", "d"}).Draw(t, "account"), Since: start.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, "bound")) * time.Minute),
					TRES: accounting.TRES{"cpu": 8, "gres/gpu": int64(rapid.IntRange(1, 6).Draw(t, "GPUs"))}}
				book.Take(id, w)
				live[id] = w
			}
			g := book.Guarantees()
			if g != book.Guarantees() {
				t.Fatal("nothing has changed, and it is another value")
			}
			for i, a := range g.Accounts {
				for name, most := range a.TRES {
					var ids []federation.JobID
					for id, w := range live {
						if w.Account == a.Account || a.Account == "p" && w.Account != "d" {
							ids = append(ids, id)
						}
					}
					slices.SortFunc(ids, func(x, y federation.JobID) int {
						if c := live[x].Since.Compare(live[y].Since); c != 0 {
							return c
						}
						return int(x) - int(y)
					})
					sum := int64(0)
					for _, id := range ids {
						sum += live[id].TRES[name]
						if g.Lent[i][name][id] != (sum > most) {
							t.Fatalf("account %s, %s=%d: job %d of %v: lent is %v", a.Account, name, most, id, ids, g.Lent[i][name])
						}
					}
					if g.Held[i][name] != sum {
						t.Fatalf("account %s holds %s=%d, not %d", a.Account, name, g.Held[i][name], sum)
					}
				}
			}
		}
	})
}

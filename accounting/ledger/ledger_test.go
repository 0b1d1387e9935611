package ledger

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fsub/accounting"
)

func drawEntry(t *rapid.T, source Source) Entry {
	start := rapid.Int64Range(1.7e9, 1.7e9+10*day).Draw(t, "start")
	e := Entry{
		ID: ID{Site: "rhein", Kind: OwnJob, Job: 7, At: 1}, Source: source,
		Group: Group{Site: "rhein", Account: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "account"), User: "u"},
		TRES:  rapid.SampledFrom([]string{"cpu=4,mem=100M,node=1", "cpu=8,gres/gpu:h100=3,gres/gpu=3,mem=7M,node=2,billing=9"}).Draw(t, "tres"),
		Start: start, End: start + rapid.Int64Range(0, 5*day).Draw(t, "elapsed"), CPUUsed: rapid.Int64Range(-1, 1e6).Draw(t, "used"), GPUUsed: rapid.Int64Range(-1, 1000).Draw(t, "gpus used"),
		Wait: rapid.Int64Range(0, 10*day).Draw(t, "wait"), Limit: rapid.Int64Range(0, day).Draw(t, "limit"),
		State: rapid.SampledFrom([]string{"COMPLETED", "FAILED", "REQUEUED"}).Draw(t, "state"),
	}
	e.Suspended = rapid.Int64Range(0, e.Elapsed()).Draw(t, "suspended")
	e.PerHour = accounting.Money(len(e.TRES)) * 777_777 // what a site's prices make of it
	if len(e.TRES) > 30 {
		e.Group.GPU = "h100"
	}
	e.Fate = FateOf(e.State, int64(len(e.Group.GPU)), e.GPUUsed)
	if source == FromRun {
		e.PerHour = accounting.Money(rapid.Int64Range(0, 1e8).Draw(t, "price"))
		e.Rented, e.DearestPerHour = rapid.Bool().Draw(t, "rented"), 5e8
		if e.PerHour > 0 {
			e.Source |= Priced
		}
		if e.Fate == Lost {
			e.Source |= Redone
		}
		e.bill()
	}
	return e
}

// What the books say of a run depends on what was read of it, not on the order or on how often.
func TestMergeOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []Entry
		if rapid.Bool().Draw(t, "ours") {
			all = append(all, drawEntry(t, FromRun))
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "answers") {
			e := drawEntry(t, FromSite)
			e.ReadAt = int64(1000 + i/2) // some of one moment
			all = append(all, e)
		}
		read := func(list []Entry) (said Entry) {
			for _, e := range list {
				said, _ = Merge(said, e)
			}
			return said
		}
		want := read(all)
		cut := rapid.IntRange(0, len(all)).Draw(t, "cut")
		if got, _ := Merge(read(all[:cut]), read(all[cut:])); len(all) > cut && got != want {
			t.Fatalf("read once in order:\n%+v\nread in two portions:\n%+v", want, got)
		}
		again := rapid.Permutation(append(slices.Clone(all), all...)).Draw(t, "order")
		if got := read(again); got != want {
			t.Fatalf("read once in order:\n%+v\nread in another order, and twice:\n%+v", want, got)
		}
		if len(all) > 0 {
			if _, changed := Merge(want, all[0]); changed {
				t.Fatalf("what has been read changes %+v", want)
			}
		}
	})
}

// The days of a run add up to the run.
func TestDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEntry(t, FromRun)
		tres, err := accounting.ParseTRES(e.TRES)
		if err != nil {
			t.Fatal(err)
		}
		var sum Sums
		days := map[int64]bool{}
		e.Days(tres, func(d int64, s Sums) {
			if days[d] || d < DayOf(e.Start)-1 || d > DayOf(e.End) {
				t.Fatalf("day %d of a run from %d to %d, days %v", d, e.Start, e.End, slices.Sorted(maps.Keys(days)))
			}
			if s.GPU > GPUs(tres)*day || s.Amount < 0 || s.CPU < 0 {
				t.Fatalf("day %d: %+v", d, s)
			}
			days[d] = true
			sum.Add(&s, 1)
		})
		if whole := e.whole(tres); sum != whole {
			t.Fatalf("the days come to\n%+v\nthe run to\n%+v", sum, whole)
		}
		if sum.Amount != e.Amount || sum.CPU != tres["cpu"]*(e.Elapsed()-e.Suspended) || sum.GPU != 3*e.Elapsed() && tres["gres/gpu"] > 0 {
			t.Fatalf("%+v came to %+v", e, sum)
		}
	})
}

// A run over midnight is split there.
func TestDaysSplit(t *testing.T) {
	e := Entry{Start: 10*day - 100, End: 10*day + 50, Amount: 300, CPUUsed: -1, GPUUsed: -1}
	got := map[int64]Sums{}
	e.Days(accounting.TRES{"cpu": 2, "gres/gpu:a": 1, "gres/gpu:b": 2}, func(d int64, s Sums) { got[d] = s })
	if a, b := got[9], got[10]; len(got) != 2 || a.CPU != 200 || b.CPU != 100 || a.GPU != 300 || a.Amount != 200 || b.Amount != 100 || a.Runs != 0 || b.Runs != 1 {
		t.Errorf("split into %+v", got)
	}
}

func TestFate(t *testing.T) {
	for _, c := range []struct {
		state      string
		gpus, used int64
		want       Fate
	}{
		{"COMPLETED", 8, -1, Productive}, {"COMPLETED", 8, 9, Idle}, {"COMPLETED", 8, 10, Productive}, {"COMPLETED", 0, 0, Productive}, {"NODE_FAIL", 8, 0, Lost},
		{"REQUEUED", 0, -1, Lost}, {"PREEMPTED", 0, -1, Lost}, {"TIMEOUT", 0, -1, Stopped}, {"CANCELLED", 1, 500, Stopped}, {"OUT_OF_MEMORY", 0, -1, Failed},
	} {
		if got := FateOf(c.state, c.gpus, c.used); got != c.want {
			t.Errorf("%s with %d GPUs used to %d: %v, want %v", c.state, c.gpus, c.used, got, c.want)
		}
	}
}

func TestFoldName(t *testing.T) {
	for name, want := range map[string]string{"train": "train", "sweep-0017": "sweep-#", "7b_lr3e-4": "#b_lr#e-#", "": "", "12": "#"} {
		if got := FoldName(name); got != want {
			t.Errorf("%q is folded to %q, want %q", name, got, want)
		}
	}
}

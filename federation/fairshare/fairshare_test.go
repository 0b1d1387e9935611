package fairshare

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/sbatch"
)

type books struct{ t *accounts.Tree }

func (b books) Tree() *accounts.Tree { return b.t }

func tree(t testing.TB, edits ...accounts.Edit) books {
	empty, err := accounts.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	next, _, err := empty.Apply(edits, accounts.Editor{Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	return books{next}
}

// growing is a tree that is edited.
type growing struct{ t *accounts.Tree }

func (g *growing) Tree() *accounts.Tree { return g.t }

func (g *growing) edit(t *rapid.T, edits ...accounts.Edit) {
	next, _, err := g.t.Apply(edits, accounts.Editor{Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	g.t = next
}

var start = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

func job(id int, user, account string) *federation.Job {
	return &federation.Job{ID: federation.JobID(id), User: user, Submit: start, Spec: &sbatch.Spec{Account: account}}
}

func order(s *Shares, jobs []*federation.Job) {
	slices.SortStableFunc(jobs, func(a, b *federation.Job) int {
		x, y := s.Order(a, nil), s.Order(b, nil)
		switch {
		case x > y, x == y && a.ID < b.ID:
			return -1
		}
		return 1
	})
}

// Without a tree users are equal: who has used nothing stands before who has, and nobody's thousands of jobs stand before everybody's.
func TestUsersWithoutTree(t *testing.T) {
	s := New(Default(), tree(t))
	s.Pass(start, nil)
	var jobs []*federation.Job
	for i := range 10_000 {
		jobs = append(jobs, job(1+i, "alice", ""))
	}
	jobs = append(jobs, job(10_001, "bob", ""), job(10_002, "carol", ""))
	for _, j := range jobs {
		s.Order(j, nil)
	}
	order(s, jobs)
	if jobs[1].User != "bob" || jobs[2].User != "carol" {
		t.Errorf("the first are of %s, %s, %s", jobs[0].User, jobs[1].User, jobs[2].User)
	}
	for i := range 5000 { // the place that a late one gets is here, not at the front and not at the end
		s.Bound(jobs[i].ID)
	}
	late := job(10_003, "dave", "")
	rest := append(slices.Clone(jobs[5000:]), late)
	s.Order(late, nil)
	order(s, rest)
	if i := slices.Index(rest, late); i > 2 {
		t.Errorf("a late user's job is number %d of the queue", i)
	}

	s.Charge(&federation.Charge{User: "alice", Held: federation.Held{TRES: "cpu=4,billing=4"}, Start: start, End: start.Add(time.Hour), From: federation.PriceTable})
	s.Pass(start.Add(time.Hour), nil)
	if a, b := s.Points(job(1, "alice", ""), nil), s.Points(job(2, "bob", ""), nil); a >= b {
		t.Errorf("alice has used something: %d points, bob %d", a, b)
	}
}

func TestUsage(t *testing.T) {
	b := tree(t, accounts.Edit{Op: accounts.Add, Key: accounts.QOSKey("high"), Set: map[string]string{"UsageFactor": "2", "Priority": "10"}},
		accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("physics"), Set: map[string]string{"Fairshare": "3"}},
		accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("vision")},
		accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")}, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("vision", "bob")})
	usage := func(p Policy, key accounts.Key, after time.Duration) float64 {
		s := New(p, b)
		s.Pass(start, nil)
		charge := federation.Charge{User: "alice", Held: federation.Held{QOS: "high", TRES: "cpu=4,gres/gpu=2,billing=10"}, Start: start, End: start.Add(time.Hour),
			Amount: 7 * federation.Dollar, From: federation.PriceTable}
		s.Charge(&charge)
		s.Pass(start.Add(after), []Running{{User: "bob", Account: "vision", Held: federation.Held{TRES: "cpu=1,billing=1"}, Start: start, Price: federation.Dollar}})
		for _, r := range s.Standing() {
			if r.Key == key {
				return r.Usage
			}
		}
		t.Fatal("no row of", key)
		return 0
	}
	none := Policy{Period: time.Minute}
	weights, dollars, decays := none, none, none
	weights.Billing = map[string]float64{"gres/gpu": 5}
	dollars.Dollars = true
	decays.HalfLife = time.Hour
	alice := accounts.UserKey("physics", "alice")
	for _, c := range []struct {
		name  string
		p     Policy
		key   accounts.Key
		after time.Duration
		want  float64
	}{
		{"the site's billing, twice for the QOS", none, alice, time.Hour, 2 * 10 * 3600},
		{"weights", weights, alice, time.Hour, 2 * 10 * 3600},
		{"dollars", dollars, alice, time.Hour, 14},
		{"a half-life later, of a run of one", decays, alice, 2 * time.Hour, 10 * 3600 * .5 / math.Ln2},
		{"what runs", none, accounts.UserKey("vision", "bob"), time.Hour, 3600},
		{"dollars of what runs", dollars, accounts.UserKey("vision", "bob"), 2 * time.Hour, 2},
		{"the account", none, accounts.AccountKey("physics"), time.Hour, 2 * 10 * 3600},
	} {
		if got := usage(c.p, c.key, c.after); math.Abs(got-c.want) > c.want/1000 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPoints(t *testing.T) {
	b := tree(t, accounts.Edit{Op: accounts.Add, Key: accounts.QOSKey("high"), Set: map[string]string{"Priority": "10"}},
		accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("physics")}, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")})
	p := Policy{Period: time.Minute, Share: 1000, Age: 100, MaxAge: time.Hour, QOS: 10, Partition: 400}
	s := New(p, b)
	s.Partitions(map[string]int{"": 0, "main": 0, "fast": 8, "night": 2})
	s.Pass(start.Add(30*time.Minute), nil)
	plain := job(1, "alice", "")
	for name, c := range map[string]struct {
		change func(*federation.Job)
		want   int64
	}{
		"plain":                 {func(*federation.Job) {}, 1050},
		"nice":                  {func(j *federation.Job) { j.Spec = &sbatch.Spec{Nice: 7} }, 1043},
		"QOS":                   {func(j *federation.Job) { j.Spec = &sbatch.Spec{QOS: "high"} }, 1060},
		"a partition":           {func(j *federation.Job) { j.Spec = &sbatch.Spec{Partition: "night"} }, 1150},
		"one that nobody has":   {func(j *federation.Job) { j.Spec = &sbatch.Spec{Partition: "nosuch"} }, 1050},
		"the best of several":   {func(j *federation.Job) { j.Spec = &sbatch.Spec{Partition: "night,fast"} }, 1450},
		"old":                   {func(j *federation.Job) { j.Submit = start.Add(-24 * time.Hour) }, 1100},
		"of an unknown account": {func(j *federation.Job) { j.Spec = &sbatch.Spec{Account: "nosuch"} }, 1050}, // his default one counts
		"of nobody known":       {func(j *federation.Job) { j.User = "zoe" }, 50},
		"an operator's number":  {func(j *federation.Job) { j.Priority, j.Top = 77, 1 }, 78},
	} {
		j := *plain
		c.change(&j)
		if got := s.Points(&j, nil); got != c.want {
			t.Errorf("%s: %d points, want %d", name, got, c.want)
		}
	}
}

// What Order says of a job stays true until a pass says that it does not any more.
func TestOrderHoldsUntilAPassHasChangedIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		empty, _ := accounts.New(nil)
		b := &growing{empty}
		var edits []accounts.Edit
		for _, a := range []string{"physics", "vision"} {
			edits = append(edits, accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey(a)})
		}
		users := []string{"alice", "bob", "carol", "dave", "zoe"}
		for i, u := range users[:4] {
			edits = append(edits, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey([]string{"physics", "vision"}[i%2], u)})
		}
		b.edit(t, edits...)
		s := New(Policy{HalfLife: time.Hour, Period: time.Minute, Share: 1000, Age: 100, MaxAge: 10 * time.Hour}, b)
		now, said := start, map[federation.JobID]int64{}
		var jobs []*federation.Job
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "minutes")) * time.Minute)
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				s.Add(rapid.SampledFrom(users).Draw(t, "user"), federation.Held{TRES: "cpu=1"}, time.Duration(rapid.IntRange(0, 90).Draw(t, "used"))*time.Minute, 0, now)
			case 1:
				if rapid.IntRange(0, 3).Draw(t, "edit") == 0 {
					b.edit(t, accounts.Edit{Op: accounts.Modify, Key: accounts.AccountKey("vision"), Set: map[string]string{"Fairshare": fmt.Sprint(1 + i)}})
				}
			case 2, 3:
				j := job(i+1, rapid.SampledFrom(users).Draw(t, "of"), "")
				j.Submit = now
				jobs = append(jobs, j)
				said[j.ID] = s.Order(j, nil)
			}
			changed := s.Pass(now, nil)
			for _, j := range jobs {
				got := s.Order(j, nil)
				if changed == Same && got != said[j.ID] {
					t.Fatalf("job %d of %s stood at %d, now at %d, and the pass did not say so", j.ID, j.User, said[j.ID], got)
				}
				said[j.ID] = got
			}
			for _, x := range jobs { // in an hour somebody may come to the highest age, which is 10 points
				for _, y := range jobs {
					if a, b := s.Points(x, nil), s.Points(y, nil); a > b+11 && said[x.ID] < said[y.ID] {
						t.Fatalf("job %d has %d points and job %d %d, and stands behind it", x.ID, a, y.ID, b)
					}
				}
			}
		}
	})
}

// What users have submitted at sites themselves counts beside what they have run here, decays, and is told anew each time.
func TestDirectSubmissionsCount(t *testing.T) {
	b := tree(t, accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("physics")}, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")},
		accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("physics", "bob")})
	s := New(Policy{HalfLife: time.Hour, Period: time.Minute, Share: 1000}, b)
	s.Add("alice", federation.Held{Account: "physics", TRES: "cpu=1"}, time.Hour, 0, start)
	direct := []federation.ChargeSum{{User: "bob", Account: "physics", TRES: "cpu=4", Elapsed: time.Hour, End: start}}
	s.Direct(direct, start)
	s.Direct(direct, start.Add(time.Hour))
	s.Pass(start.Add(2*time.Hour), nil)
	used := map[string]float64{}
	for _, r := range s.Standing() {
		used[r.Name] = math.Round(r.Usage)
	}
	left := .5 / .693 // of an hour with a half-life of one
	if math.Abs(used["alice"]-900*left) > 1 || math.Abs(used["bob"]-3600*left) > 2 {
		t.Errorf("used: %v", used)
	}
	if s.Points(job(1, "alice", "physics"), nil) <= s.Points(job(2, "bob", "physics"), nil) {
		t.Error("bob comes first")
	}
}

// What a long run used first has decayed while it runs. It counts the same in its last moment, when it has just ended, and when it is read as one of several after a restart.
func TestLongRunsDecay(t *testing.T) {
	b := tree(t, accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("physics")}, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")})
	held := federation.Held{Account: "physics", TRES: "cpu=1"}
	const lasted = 10 * 24 * time.Hour
	end := start.Add(lasted)
	for _, dollars := range []bool{false, true} {
		p := Policy{HalfLife: 24 * time.Hour, Period: time.Minute, Share: 1000, Dollars: dollars}
		price := federation.Money(3_600_000_000) // $3,600 an hour
		used := func(s *Shares, running ...Running) float64 {
			s.Pass(end, running)
			for _, r := range s.Standing() {
				if r.Name == "alice" {
					return r.Usage
				}
			}
			return 0
		}
		want := 0.0
		for d := time.Minute; d <= lasted; d += time.Minute {
			want = want*math.Exp2(-1./24/60) + 60
		}
		if dollars {
			want *= price.For(time.Second).Dollars()
		}
		ended, summed, direct := New(p, b), New(p, b), New(p, b)
		ended.Add("alice", held, lasted, price.For(lasted), end)
		sum := federation.ChargeSum{User: "alice", Account: "physics", TRES: "cpu=1", Elapsed: 2 * lasted, Amount: 2 * price.For(lasted), Runs: 2, End: end}
		summed.AddSum(&sum)
		direct.Direct([]federation.ChargeSum{sum}, end)
		for name, got := range map[string]float64{
			"running": used(New(p, b), Running{User: "alice", Account: "physics", Held: held, Start: start, Price: price}),
			"ended":   used(ended), "two ended": used(summed) / 2, "two submitted at a site": used(direct) / 2,
		} {
			if math.Abs(got/want-1) > 1e-3 {
				t.Errorf("%s, dollars %v: counts %.0f, want %.0f", name, dollars, got, want)
			}
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	s := New(Default(), tree(b))
	s.Pass(start, nil)
	j := job(1, "alice", "")
	for b.Loop() {
		s.Order(j, nil)
	}
}

package quota

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/reasons"
)

// Random trees with random limits: whatever is submitted or ends, and however often the daemon starts anew, a job may start exactly if plain sums over the live
// jobs say so.
func TestLimitsOfRandomTreesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
		var edits []accounts.Edit
		record := func(k accounts.Key, parent string, options ...string) {
			e := add(k)
			e.Parent = parent
			for _, o := range options {
				if rapid.Bool().Draw(t, o) {
					e.Set[o] = fmt.Sprint(rapid.IntRange(0, 6).Draw(t, "jobs"))
					if o == "GrpTRES" || o == "MaxTRES" || o == "MaxTRESPerUser" || o == "MaxTRESPerAccount" {
						e.Set[o] = pick("TRES", "gres/gpu=", "cpu=9,gres/gpu=", "cpu=") + e.Set[o]
					} else if o == "MaxWall" && e.Set[o] == "0" {
						e.Set[o] = "7"
					} else if o == "GrpTRESRunMins" {
						e.Set[o] = "gres/gpu=" + e.Set[o] + "0"
					}
				}
			}
			edits = append(edits, e)
		}
		group := []string{"GrpJobs", "GrpTRES", "GrpTRESRunMins", "MaxTRES", "MaxWall"}
		parents := []string{"root", "a", "a", "root"}
		for i, name := range []string{"a", "b", "c", "d"} {
			record(accounts.AccountKey(name), parents[i], append(group, "MaxJobs")...)
			for _, user := range []string{"u", "v"} {
				record(accounts.UserKey(name, user), "", append(group, "MaxJobs")...)
			}
		}
		for _, q := range []string{"low", "high"} {
			record(accounts.QOSKey(q), "", append(group, "MaxTRESPerUser", "MaxJobsPerUser", "MaxTRESPerAccount", "MaxJobsPerAccount")...)
		}
		b := tree(t, edits...)
		live, next, book := map[federation.JobID]Want{}, federation.JobID(1), New(b, 0)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				for _, id := range slices.Sorted(maps.Keys(live)) {
					if rapid.Bool().Draw(t, "ends") {
						book.Release(id)
						delete(live, id)
					}
				}
			case 1:
				book = New(b, 0)
				for id, w := range live {
					book.Take(id, w)
				}
			default:
				w := Want{User: pick("user", "u", "v"), Account: pick("account", "a", "b", "c", "d"), QOS: pick("QOS", "", "low", "high"),
					TRES: accounting.TRES{"gres/gpu": int64(rapid.IntRange(0, 3).Draw(t, "GPUs")), "cpu": int64(rapid.IntRange(1, 4).Draw(t, "CPUs"))}, Longest: time.Duration(rapid.IntRange(2, 9).Draw(t, "minutes")) * time.Minute}
				no, want := book.Check(start, &w), allowed(b.t, live, &w)
				if (no == nil) != want {
					t.Fatalf("%+v beside %+v: %+v, and by the sums it may start: %v", w, live, no, want)
				}
				if want {
					book.Take(next, w)
					live[next] = w
				}
				next++
			}
		}
	})
}

// allowed says by plain sums over the live jobs whether one more may start.
func allowed(tree *accounts.Tree, live map[federation.JobID]Want, w *Want) bool {
	q := tree.Get(accounts.QOSKey(w.QOS))
	byQOS := func(option, name string) bool {
		if q == nil {
			return false
		}
		_, ok := q.TRES(option)[name]
		return ok || name == "" && q.Set[option] != ""
	}
	within := func(in func(*Want) bool, jobs int64, tres, mins accounting.TRES) bool {
		n, sum, seconds := int64(0), accounting.TRES{}, accounting.TRES{}
		for _, l := range append(slices.Collect(maps.Values(live)), *w) {
			if in(&l) {
				n++
				for name, c := range l.TRES {
					sum[name] += c
					seconds[name] += c * int64(l.Longest/time.Second)
				}
			}
		}
		for name, most := range tres {
			if w.TRES[name] > 0 && sum[name] > most {
				return false
			}
		}
		for name, most := range mins {
			if w.TRES[name] > 0 && seconds[name] > most*60 {
				return false
			}
		}
		return n <= jobs
	}
	count := func(r *accounts.Record, option string) int64 {
		if n, ok := r.Count(option); ok {
			return n
		}
		return math.MaxInt64
	}
	if q != nil {
		own := func(l *Want) bool { return l.QOS == w.QOS }
		if !within(own, count(q, "GrpJobs"), q.TRES("GrpTRES"), q.TRES("GrpTRESRunMins")) ||
			!within(func(l *Want) bool { return own(l) && l.User == w.User }, count(q, "MaxJobsPerUser"), q.TRES("MaxTRESPerUser"), nil) ||
			!within(func(l *Want) bool { return own(l) && l.Account == w.Account }, count(q, "MaxJobsPerAccount"), q.TRES("MaxTRESPerAccount"), nil) {
			return false
		}
	}
	chain := []*accounts.Record{tree.Get(accounts.UserKey(w.Account, w.User))}
	for a := range tree.Above(w.Account) {
		chain = append(chain, a)
	}
	most, wallOf, jobs := accounting.TRES{}, int64(-1), int64(-1)
	single := func(r *accounts.Record) {
		for name, n := range r.TRES("MaxTRES") {
			if _, set := most[name]; !set {
				most[name] = n
			}
		}
		if n, ok := r.Count("MaxWall"); ok && wallOf < 0 {
			wallOf = n
		}
		if n, ok := r.Count("MaxJobs"); ok && jobs < 0 && r.Kind != accounts.QOS {
			jobs = n
		}
	}
	if q != nil {
		single(q)
	}
	for _, r := range chain {
		single(r)
		tres, mins, n := maps.Clone(r.TRES("GrpTRES")), maps.Clone(r.TRES("GrpTRESRunMins")), count(r, "GrpJobs")
		maps.DeleteFunc(tres, func(name string, _ int64) bool { return byQOS("GrpTRES", name) })
		maps.DeleteFunc(mins, func(name string, _ int64) bool { return byQOS("GrpTRESRunMins", name) })
		if byQOS("GrpJobs", "") {
			n = math.MaxInt64
		}
		below := func(l *Want) bool {
			if r.Kind == accounts.User {
				return l.User == r.Name && l.Account == r.Account
			}
			for a := range tree.Above(l.Account) {
				if a == r {
					return true
				}
			}
			return false
		}
		if !within(below, n, tres, mins) {
			return false
		}
	}
	for name, n := range most {
		if w.TRES[name] > n {
			return false
		}
	}
	mine := func(l *Want) bool { return l.User == w.User && l.Account == w.Account }
	return (wallOf < 0 || w.Longest-time.Minute <= time.Duration(wallOf)*time.Minute) && (jobs < 0 || within(mine, jobs, nil, nil))
}

// A QOS with DenyOnLimit has a job refused that passes a limit by itself. What is used up, and how many jobs there are, is for others to wait for.
func TestDenials(t *testing.T) {
	b := tree(t, add(accounts.QOSKey("strict"), "Flags", "NoDecay,DenyOnLimit", "MaxTRESPerUser", "gres/gpu=2", "MaxTRESPerAccount", "gres/gpu=3,mem=64G", "MaxJobsPerUser", "0", "GrpTRESMins", "cpu=34560"),
		add(accounts.QOSKey("capped"), "Flags", "denyonlimit", "MaxWall", "60"), add(accounts.QOSKey("lenient"), "Flags", "NoDecay", "MaxWall", "60", "MaxTRESPerUser", "gres/gpu=2"),
		add(accounts.AccountKey("physics"), "GrpTRES", "cpu=64", "MaxTRES", "node=4", "MaxJobs", "0", "Budget", "0/month", "GrpWall", "600", "GrpTRESRunMins", "node=2160"), add(accounts.UserKey("physics", "alice")),
		add(accounts.AccountKey("vision"), "DefaultQOS", "capped"), add(accounts.UserKey("vision", "alice")))
	book := New(b, 0)
	book.Take(1, Want{User: "alice", Account: "physics", QOS: "strict", TRES: accounting.TRES{"cpu": 64, "gres/gpu": 2}})
	book.Add("alice", federation.Held{Account: "physics", QOS: "strict", TRES: "cpu=64"}, 600*time.Hour, 0, start)
	for _, c := range []struct {
		Want
		reason reasons.Reason
	}{
		{Want{QOS: "strict", TRES: accounting.TRES{"cpu": 64, "gres/gpu": 2, "node": 4}, Longest: 9*time.Hour + federation.KillTime}, ""}, // though the group has used all its minutes
		{Want{QOS: "strict", TRES: accounting.TRES{"node": 4}, Longest: 9*time.Hour + 2*federation.KillTime}, "AssocGrpNodeRunMinutes"},
		{Want{QOS: "strict", TRES: accounting.TRES{"cpu": 64}, Longest: 9*time.Hour + 2*federation.KillTime}, "QOSGrpCPUMinutesLimit"},
		{Want{QOS: "strict", TRES: accounting.TRES{"cpu": 1}}, "AssocGrpWallLimit"}, // --time=UNLIMITED
		{Want{QOS: "strict", Longest: 10*time.Hour + federation.KillTime}, ""},
		{Want{QOS: "strict", Longest: 10*time.Hour + 2*federation.KillTime}, "AssocGrpWallLimit"},
		{Want{QOS: "strict", TRES: accounting.TRES{"gres/gpu": 3}, Longest: time.Hour}, "QOSMaxGRESPerUser"},
		{Want{QOS: "strict", TRES: accounting.TRES{"mem": 65 << 10}, Longest: time.Hour}, "MaxMemoryPerAccount"},
		{Want{QOS: "strict", TRES: accounting.TRES{"cpu": 65}, Longest: time.Hour}, "AssocGrpCpuLimit"},
		{Want{QOS: "STRICT", TRES: accounting.TRES{"node": 5}, Longest: time.Hour}, "AssocMaxNodePerJobLimit"},
		{Want{QOS: "capped", Longest: time.Hour + federation.KillTime}, ""},
		{Want{QOS: "capped", Longest: time.Hour + 2*federation.KillTime}, "QOSMaxWallDurationPerJobLimit"},
		{Want{QOS: "capped", Longest: federation.KillTime}, ""}, // without a limit of its own it gets the QOS's
		{Want{QOS: "capped"}, "QOSMaxWallDurationPerJobLimit"},
		{Want{Account: "vision", Longest: 2 * time.Hour}, "QOSMaxWallDurationPerJobLimit"}, // by default
		{Want{QOS: "lenient", TRES: accounting.TRES{"gres/gpu": 3, "cpu": 65, "node": 5}, Longest: 2 * time.Hour}, ""},
		{Want{TRES: accounting.TRES{"cpu": 65, "node": 5}}, ""},
	} {
		c.User, c.Account = "alice", cmp.Or(c.Account, "physics")
		var got reasons.Reason
		if no := book.Denies(&c.Want); no != nil {
			got = no.Reason
		}
		if got != c.reason {
			t.Errorf("%+v: %q, want %q", c.Want, got, c.reason)
		}
	}
}

package predict

import (
	"compress/gzip"
	"container/heap"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/sbatch"
)

type job struct {
	submit, wait, run, limit float64
	keys                     Keys
	ask                      decision.QueueAsk
}

func read(t *testing.T, name string, shape ...string) (out []job) {
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		t.Skip("FSUB_ORACLE is not set: the traces are not here")
	}
	f, err := os.Open(filepath.Join(dir, "traces", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	col := map[string]int{}
	for i, n := range rows[0] {
		col[n] = i
	}
	get := func(r []string, n string) string {
		i, ok := col[n]
		if !ok {
			return ""
		}
		return r[i]
	}
	num := func(r []string, n string) float64 { v, _ := strconv.ParseFloat(get(r, n), 64); return v }
	for _, r := range rows[1:] {
		p := job{submit: num(r, "submit_time_s"), wait: num(r, "wait_s"), run: num(r, "duration_s"), limit: num(r, "timelimit_s")}
		size := fmt.Sprintf("%s/%s/%s/%s", get(r, "gpus"), get(r, "nodes"), get(r, "cpus"), get(r, "cpu_milli"))
		sh := size
		for _, n := range shape {
			sh += "/" + get(r, n)
		}
		p.keys = Kind{User: get(r, "user_or_team"), Size: size, Shape: sh, Nodes: fmt.Sprintf("%s/%s", get(r, "gpus"), get(r, "nodes"))}.Keys()
		p.ask = decision.QueueAsk{User: get(r, "user_or_team"), Partition: get(r, "partition") + get(r, "queue"), CPUs: int(num(r, "cpus")), Nodes: int(num(r, "nodes")), Limit: time.Duration(p.limit) * time.Second}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b job) int { return int(math.Copysign(1, a.submit-b.submit)) })
	return out
}

type event struct {
	at  float64
	job int
	end bool
}
type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any          { o := *e; x := o[len(o)-1]; *e = o[:len(o)-1]; return x }

// replay has every job foretold when it is submitted, knowing only what was then past, and scores the last 40 %: the factor that the typical p50 is off (of
// runs under a minute as of one minute), the share within the p90, and the p90's pinball loss, where that of the last 1,000 runs' quantile is 1.
func replay(jobs []job) (factor, within, loss float64) {
	var q events
	at := func(s float64) time.Time { return time.Unix(0, 0).Add(time.Duration(s * 1e9)) }
	b := New(0.5)
	live := map[int]float64{}
	var off, site []float64
	var n, in, own, base float64
	for i := range jobs {
		j := &jobs[i]
		for len(q) > 0 && q[0].at <= j.submit {
			e := heap.Pop(&q).(event)
			if e.end {
				delete(live, e.job)
				b.Ended(Run{Keys: jobs[e.job].keys, Start: at(e.at - jobs[e.job].run), Seconds: float32(jobs[e.job].run)})
				site = append(site, jobs[e.job].run)
			} else {
				live[e.job] = e.at
				b.Started(jobs[e.job].keys, at(e.at))
				heap.Push(&q, event{e.at + jobs[e.job].run, e.job, true})
			}
		}
		if now := at(j.submit); b.Due(now) {
			var running []Live
			for k, start := range live {
				running = append(running, Live{jobs[k].keys, at(start), time.Duration((j.submit - start) * 1e9)})
			}
			b.Pass(now, running)
		}
		f := decision.Expected{P50: time.Duration(j.limit * 5e8), P90: time.Duration(j.limit * 1e9)} // what is reckoned with where nothing is known
		if f.P90 > longestLimit {
			f.P50, f.P90 = time.Hour, time.Hour
		}
		if e := b.Expect(j.keys, time.Duration(j.limit*1e9)); e != nil {
			f = *e
		}
		heap.Push(&q, event{j.submit + j.wait, i, false})
		if i < len(jobs)*6/10 {
			continue
		}
		lately := slices.Sorted(slices.Values(site[max(0, len(site)-1000):]))
		plain := lately[len(lately)*9/10]
		if j.limit > 0 {
			plain = min(plain, j.limit)
		}
		pinball := func(p float64) float64 { return max(.9*(j.run-p), .1*(p-j.run)) }
		n++
		if j.run <= f.P90.Seconds() {
			in++
		}
		own += pinball(f.P90.Seconds())
		base += pinball(plain)
		off = append(off, math.Abs(math.Log2(max(60, f.P50.Seconds())/max(60, j.run))))
	}
	slices.Sort(off)
	return math.Exp2(off[len(off)/2]), in / n, own / base
}

// Public traces, replayed.
func TestTraces(t *testing.T) {
	for _, tr := range []struct {
		name                 string
		shape                []string
		factor, within, loss float64
	}{
		{"mit_supercloud_2021_slurm_subset.csv.gz", []string{"timelimit_s", "partition"}, 2.2, .855, .684},
		{"metacentrum_2013_wagap.csv.gz", []string{"timelimit_s", "queue", "nodespec"}, 2.3, .855, .56},
		{"philly_2017_sia.csv.gz", nil, 1.5, .94, .955},
		{"alibaba_openb_2023_gpuspec33.csv.gz", []string{"memory_mib"}, 2.5, .93, 1.1},
	} {
		if strings.HasPrefix(tr.name, "philly") && os.Getenv("FSUB_FULL") == "" {
			t.Logf("%s: skipped: 82,000 jobs take half a minute; FSUB_FULL=1 replays them too", tr.name)
			continue
		}
		jobs := read(t, tr.name, tr.shape...)
		f, c, q := replay(jobs)
		t.Logf("%s: p50 off by %.2f, p90 holds for %.3f, its loss %.2f, %d jobs", tr.name, f, c, q, len(jobs))
		if f > tr.factor || c < tr.within || q > tr.loss {
			t.Errorf("%s: p50 off by %.2f, p90 holds for %.3f, its loss %.2f; want %.2f %.2f %.2f", tr.name, f, c, q, tr.factor, tr.within, tr.loss)
		}
	}
}

// What is said is in order, within the limit, and stands on what ran; a kind that nobody has seen has no forecast in an empty book.
func TestForecast(t *testing.T) {
	b, mine := New(0.5), Kind{User: "ann", Name: "train_7", Size: "1", Shape: "1 2h"}
	if f := b.Expect(mine.Keys(), time.Hour); f != nil {
		t.Fatalf("an empty book says %+v", f)
	}
	at := time.Unix(1e9, 0)
	for i := range 40 {
		b.Ended(Run{Keys: Kind{User: "bob", Name: "other", Size: "1", Shape: "1 2h"}.Keys(), Start: at, Seconds: 7000})
		b.Ended(Run{Keys: Kind{User: "ann", Name: fmt.Sprint("train_", i), Size: "1", Shape: "1 2h"}.Keys(), Start: at, Seconds: 600})
	}
	f := b.Expect(mine.Keys(), 2*time.Hour)
	if f == nil || f.Of != sameNameAndSize.String() || f.Runs != 40 || f.P50 != 10*time.Minute || f.P90 < f.P50 || f.P90 > 2*time.Hour {
		t.Errorf("ann's next run: %+v", f)
	}
	f = b.Expect(Kind{User: "new", Name: "x", Size: "1"}.Keys(), time.Hour)
	if f.Of != anyUser.String() || f.P50 > time.Hour || f.P90 != time.Hour {
		t.Errorf("a new user's run: %+v", f)
	}
	for range 60 { // a batch of long runs, none of which has ended
		b.Started(mine.Keys(), at.Add(time.Hour))
	}
	live := make([]Live, 60)
	for i := range live {
		live[i] = Live{mine.Keys(), at.Add(time.Hour), 90 * time.Minute}
	}
	b.Pass(at.Add(150*time.Minute), live)
	if f = b.Expect(mine.Keys(), 2*time.Hour); f.P90 < 90*time.Minute {
		t.Errorf("while a batch has run for 90 minutes, the p90 is %s", f.P90)
	}
}

// A batch that fails in its first seconds does not make the user's long runs forgotten.
func TestFailedBatch(t *testing.T) {
	b, mine := New(0.5), Kind{User: "ann", Size: "1", Shape: "1 2h"}.Keys()
	at := time.Unix(1e9, 0)
	for i := range 60 { // one each day, for an hour
		b.Ended(Run{Keys: mine, Start: at.Add(time.Duration(i) * 24 * time.Hour), Seconds: 3600})
	}
	at = at.Add(61 * 24 * time.Hour)
	for range 2 * kept {
		b.Ended(Run{Keys: mine, Start: at, Seconds: 2})
	}
	if f := b.Expect(mine, 2*time.Hour); f.P50 > time.Minute || f.P90 < time.Hour {
		t.Errorf("after a batch of failures: p50 %s, p90 %s; want seconds and an hour", f.P50, f.P90)
	}
}

// ended has a user's job of an hour's limit and more run some times.
func ended(b *Book, k Kind, lasts time.Duration, cut bool, times int) {
	for i := range times {
		b.Ended(Run{Keys: k.Keys(), Start: time.Unix(1e9+int64(i)*1e5, 0), Seconds: float32(lasts.Seconds()), Cut: cut})
	}
}

var (
	oneCPU  = Kind{User: "ann", Script: "a", Name: "count", Size: "1 1cpu", Shape: "1 1cpu 10m", Nodes: "1"}
	fourGPU = Kind{User: "ann", Script: "b", Name: "big", Size: "1 4 h100", Shape: "1 4 h100 3h", Nodes: "1 h100:4"}
)

// What ran on other nodes or devices says nothing: a job of which no more is known is reckoned with as one without any history.
func TestOtherNodesSayNothing(t *testing.T) {
	b := New(0.5)
	ended(b, oneCPU, time.Second, false, 64)
	if e := b.Expect(fourGPU.Keys(), 3*time.Hour); e != nil {
		t.Errorf("after 64 tasks of a second on one CPU, four GPUs are expected to run %+v", e)
	}
	if e := b.Expect(oneCPU.Keys(), 10*time.Minute); e == nil || e.P50 != time.Second || e.Runs != 64 {
		t.Errorf("another such task: %+v", e)
	}
}

// Once something has run on such nodes, what ran on others says how far runs spread. It makes no job shorter than what ran on such nodes.
func TestOtherNodesTellOfTheSpread(t *testing.T) {
	expect := func(others ...time.Duration) *decision.Expected {
		b := New(0.5)
		for _, lasts := range others {
			ended(b, oneCPU, lasts, false, 64)
		}
		ended(b, fourGPU, 10*time.Minute, false, 5)
		return b.Expect(fourGPU.Keys(), 0)
	}
	alone := expect()
	if e := expect(time.Second); e.P50 != alone.P50 || e.P90 < alone.P50 || e.Runs != 5 {
		t.Errorf("beside tasks of a second on one CPU: %+v, without them %+v", e, alone)
	}
	if e := expect(3 * time.Hour); e.P50 != alone.P50 || e.P90 <= alone.P90 {
		t.Errorf("beside tasks of three hours on one CPU: %+v, without them %+v", e, alone)
	}
}

// A run that was cut short says that one takes longer: four that were cancelled after a minute do not have the next one run for a minute.
func TestCutRuns(t *testing.T) {
	b := New(0.5)
	ended(b, fourGPU, 75*time.Second, true, 4)
	if e := b.Expect(fourGPU.Keys(), 3*time.Hour); e == nil || e.P50 < 90*time.Minute || e.P90 != 3*time.Hour || e.Runs != 4 || e.Cut != 4 {
		t.Errorf("after four cancelled ones: %+v", e)
	}
	ended(b, fourGPU, time.Hour, false, 8)
	ended(b, fourGPU, 75*time.Second, true, 8)
	if e := b.Expect(fourGPU.Keys(), 3*time.Hour); e.P50 != time.Hour || e.P90 < time.Hour || e.Runs != 20 || e.Cut != 12 {
		t.Errorf("after eight that took an hour, and more that were cancelled: %+v", e)
	}
}

// Runs that fail at once tell nothing of one that works; the others do.
func TestTells(t *testing.T) {
	for _, c := range []struct {
		state      federation.State
		lasted     time.Duration
		tells, cut bool
	}{
		{federation.Completed, time.Second, true, false},
		{federation.Failed, 59 * time.Second, false, false},
		{federation.Failed, time.Hour, true, false},
		{federation.OutOfMemory, time.Second, false, false},
		{federation.Cancelled, time.Second, true, true},
		{federation.Cancelled, 0, false, true},
		{federation.Timeout, time.Hour, true, false},
		{federation.NodeFail, time.Hour, false, false},
		{federation.Preempted, time.Hour, false, false},
	} {
		if tells, cut := Tells(c.state, c.lasted); tells != c.tells || tells && cut != c.cut {
			t.Errorf("%s after %s: %v, %v", c.state, c.lasted, tells, cut)
		}
	}
}

// One run says little. The more there are, the narrower is what is said.
func TestFewRunsSayLittle(t *testing.T) {
	b, last := New(0.5), time.Duration(math.MaxInt64)
	for n := 1; n <= 64; n *= 2 {
		ended(b, fourGPU, time.Minute, false, max(n/2, 1))
		e := b.Expect(fourGPU.Keys(), 3*time.Hour)
		if n == 1 && (e.P50 != 90*time.Minute || e.P90 != 3*time.Hour) {
			t.Errorf("after one run: %+v", e)
		}
		if e.P90 > last || n > 2 && e.P90 == last || n >= 4 && e.P50 != time.Minute {
			t.Errorf("after %d runs: %+v; before, the p90 was %s", n, e, last)
		}
		last = e.P90
	}
	if last > 2*time.Minute {
		t.Errorf("after 64 runs of a minute the p90 is %s", last)
	}
}

// While a job runs, it is expected to take longer than it has.
func TestExpectAfter(t *testing.T) {
	b, limit := New(0.5), 2*time.Hour
	ended(b, fourGPU, time.Second, false, 20)
	ended(b, fourGPU, time.Hour, false, 5)
	for _, ran := range []time.Duration{0, time.Minute, 59 * time.Minute, 90 * time.Minute, limit - time.Second} {
		e := b.ExpectAfter(fourGPU.Keys(), limit, ran)
		if e.P50 <= ran || e.P90 < e.P50 || e.P90 > limit {
			t.Errorf("after %s: %+v", ran, e)
		}
		if ran == time.Minute && e.P50 != time.Hour {
			t.Errorf("those that pass a minute take an hour, and it is expected to take %s", e.P50)
		}
	}
	if e := b.ExpectAfter(fourGPU.Keys(), 0, 3*time.Hour); e.P50 <= 3*time.Hour || e.P90 <= e.P50 {
		t.Errorf("without a limit, beyond all: %+v", e)
	}
	if e := Outlasts(limit, 30*time.Minute, 0.5); e.P50 != 75*time.Minute || e.P90 != limit {
		t.Errorf("where nothing is known: %+v", e)
	}
}

// What jobs run tells them apart where sbatch has named them; a name that somebody has given stays one, whatever becomes of the script.
func TestNamesThatSayNothing(t *testing.T) {
	keys := func(name, command, digest string) Keys {
		j := &federation.Job{User: "ann"}
		j.SetSpec(sbatch.Spec{Name: name, Command: command, Digest: digest, GPUs: "4", TimeLimit: time.Hour})
		return New(0.5).Keys(j)
	}
	alike := func(a, b Keys) (n int) {
		for l := range level(levels) {
			if l < sameShape && a[l] != 0 && a[l] == b[l] {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		a, b Keys
		n    int
	}{
		{keys("wrap", "", "x"), keys("wrap", "", "y"), 0},
		{keys("wrap", "", "x"), keys("wrap", "", "x"), 1},
		{keys("sbatch", "", "x"), keys("sbatch", "", "y"), 0},
		{keys("run.sh", "/home/a/run.sh", "x"), keys("run.sh", "/home/b/run.sh", "y"), 0},
		{keys("run.sh", "/home/a/run.sh", "x"), keys("run.sh", "/home/a/run.sh", "y"), 1},
		{keys("train_1", "/home/a/run.sh", "x"), keys("train_2", "", "y"), 1},
	} {
		if n := alike(c.a, c.b); n != c.n {
			t.Errorf("%v and %v are alike at %d levels, want %d", c.a, c.b, n, c.n)
		}
	}
}

// Lengths that an earlier version has stored count where their groups still mean the same. Nobody knows how those runs ended: what took less than a minute may have failed.
func TestEarlierLengths(t *testing.T) {
	k := oneCPU.Keys()
	old := RunLength{Start: time.Unix(1e9, 0), Seconds: 300, Groups: []uint64{k[sameNameAndSize], 17, k[sameShape], k[sameSize], 18, k[anyUser], 19}}
	short := old
	short.Seconds = 2
	cut := Run{Keys: k, Start: time.Unix(2e9, 0), Seconds: 200, Cut: true}
	fewer := cut.Length() // of a version with fewer levels
	fewer.Groups = fewer.Groups[:anyNodes+1]
	b, err := Open(t.Context(), lengths{old, old, old, short, short, fewer}, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if e := b.Expect(k, 10*time.Minute); e == nil || e.P50 != 300*time.Second || e.Runs != 4 || e.Cut != 1 || e.Of != sameNameAndSize.String() {
		t.Errorf("after three old runs of five minutes: %+v", e)
	}
}

type lengths []RunLength

func (l lengths) RunLengths(context.Context, int) ([]RunLength, error) { return l, nil }

// The number of groups is bounded, and the ones that are in use stay.
func TestGroupsAreBounded(t *testing.T) {
	b := New(0.5)
	for i := range maxGroups {
		b.Ended(Run{Keys: Keys{uint64(i) + 10, 5}, Start: time.Unix(int64(i), 0), Seconds: 1})
	}
	if len(b.groups) > maxGroups || b.groups[5] == nil || b.groups[maxGroups] == nil {
		t.Errorf("%d groups", len(b.groups))
	}
}

func BenchmarkForecast(b *testing.B) {
	book := New(0.5)
	var keys []Keys
	for i := range 2000 {
		k := Kind{User: fmt.Sprint("u", i%50), Name: fmt.Sprint("n", string(rune('a'+i%26))), Size: fmt.Sprint(i % 8), Shape: fmt.Sprint(i % 16)}.Keys()
		keys = append(keys, k)
		book.Ended(Run{Keys: k, Start: time.Unix(int64(i), 0), Seconds: float32(i)})
	}
	for i := 0; b.Loop(); i++ {
		book.expect(keys[i%len(keys)], time.Hour, 0)
	}
}

package predict

import (
	"compress/gzip"
	"container/heap"
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
)

type job struct {
	submit, wait, run, limit float64
	keys                     Keys
	ask                      federation.QueueAsk
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
		p.keys = Kind{User: get(r, "user_or_team"), Size: size, Shape: sh}.Keys()
		p.ask = federation.QueueAsk{User: get(r, "user_or_team"), Partition: get(r, "partition") + get(r, "queue"), CPUs: int(num(r, "cpus")), Nodes: int(num(r, "nodes")), Limit: time.Duration(p.limit) * time.Second}
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
				b.Ended(Run{jobs[e.job].keys, at(e.at - jobs[e.job].run), float32(jobs[e.job].run)})
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
		var f federation.Expected
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
		{"philly_2017_sia.csv.gz", nil, 1.5, .94, 1},
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
		b.Ended(Run{Kind{User: "bob", Name: "other", Size: "1", Shape: "1 2h"}.Keys(), at, 7000})
		b.Ended(Run{Kind{User: "ann", Name: fmt.Sprint("train_", i), Size: "1", Shape: "1 2h"}.Keys(), at, 600})
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
		b.Ended(Run{mine, at.Add(time.Duration(i) * 24 * time.Hour), 3600})
	}
	at = at.Add(61 * 24 * time.Hour)
	for range 2 * kept {
		b.Ended(Run{mine, at, 2})
	}
	if f := b.Expect(mine, 2*time.Hour); f.P50 > time.Minute || f.P90 < time.Hour {
		t.Errorf("after a batch of failures: p50 %s, p90 %s; want seconds and an hour", f.P50, f.P90)
	}
}

// The number of groups is bounded, and the ones that are in use stay.
func TestGroupsAreBounded(t *testing.T) {
	b := New(0.5)
	for i := range maxGroups {
		b.Ended(Run{Keys{uint64(i) + 10, anyKey}, time.Unix(int64(i), 0), 1})
	}
	if len(b.groups) > maxGroups || b.groups[anyKey] == nil || b.groups[maxGroups] == nil {
		t.Errorf("%d groups", len(b.groups))
	}
}

func BenchmarkForecast(b *testing.B) {
	book := New(0.5)
	var keys []Keys
	for i := range 2000 {
		k := Kind{User: fmt.Sprint("u", i%50), Name: fmt.Sprint("n", string(rune('a'+i%26))), Size: fmt.Sprint(i % 8), Shape: fmt.Sprint(i % 16)}.Keys()
		keys = append(keys, k)
		book.Ended(Run{k, time.Unix(int64(i), 0), float32(i)})
	}
	for i := 0; b.Loop(); i++ {
		book.expect(keys[i%len(keys)], time.Hour)
	}
}

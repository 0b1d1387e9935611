package chart

import (
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/replay"
	"fsub/sbatch"
)

// replayOf is one of two jobs of eight GPUs each, the second on rented nodes. hours: between their submission and their start.
func replayOf(name string, hours int, began time.Time) Replay {
	r := &replay.Result{GPUs: 16, Begin: began}
	for i := range 2 {
		start := began.Add(time.Duration(hours) * time.Hour)
		spec := &sbatch.Spec{Account: "proj1", MinNodes: 1, MaxNodes: 1, GPUsPerNode: "8"}
		r.Jobs = append(r.Jobs, replay.Outcome{Job: &federation.Job{ID: federation.JobID(i + 1), Spec: spec}, Submit: began, Start: start, End: start.Add(time.Hour), GPUs: 8, Rented: i == 1,
			Cost: decision.Dollars(1000 * (i + 1))})
	}
	r.End = r.Jobs[1].End
	for h := range hours + 1 {
		r.Samples = append(r.Samples, replay.Sample{At: began.Add(time.Duration(h) * time.Hour), GPUsUsed: 8, GPUsWaiting: 100})
	}
	return Replay{Name: name, Result: r, Summary: r.Summary()}
}

// words are the texts of the picture in a file.
func words(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range regexp.MustCompile(`>([^<>\n]+)</text>`).FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	return strings.Join(all, "\n") + "\n"
}

func TestWrite(t *testing.T) {
	day := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	base := filepath.Join(t.TempDir(), "new", "picture")
	files, err := Write(base, "jobs.csv on rhein=2x8", []Replay{replayOf("fifo", 2, day), replayOf("a policy with a long name", 100, day)})
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	got := words(t, files[0])
	for _, want := range []string{
		"jobs.csv on rhein=2x8\nfifo\na policy with a long name\n", // the title, and what the colours mean
		"≤ 1 min\n", "Cost of what ran (pale: on rented nodes)\n", "3000\n", "% of the fleet&#39;s GPUs\n", "hours since 2026-09-01 00:00 UTC\n", "150 +\n",
		"mean completion\n3.0 h\n4.2 d\n", "GPU-hours, rented\n8\n8\n", "cost\n$3000\n$3000\n", "mean slow-down\n3.00\n101.00\n",
	} {
		if !strings.Contains(strings.ReplaceAll(got, "'", "&#39;"), want) {
			t.Errorf("the picture does not say %q:\n%s", want, got)
		}
	}
	text, _ := os.ReadFile(files[0])
	if !strings.Contains(string(text), "Arial") || strings.Contains(string(text), "Serif") {
		t.Error("the picture's font is one that few have")
	}
	if first := regexp.MustCompile(`<path d="([^"]*)" style="([^"]*)"`).FindStringSubmatch(string(text)); first == nil || !strings.HasPrefix(first[1], "M0,0L1190.6,0L1190.6,765.") || first[2] != "fill:#FFFFFF" {
		t.Errorf("the ground is not white: %q", first)
	}
	f, err := os.Open(files[1])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size.X < 1500 || size.Y < 1000 {
		t.Errorf("the PNG has %v pixels", size)
	}
}

// Traces without dates, without GPUs, of which nothing has run, or of no replay at all.
func TestWriteLittle(t *testing.T) {
	old := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	cpus := replayOf("fifo", 100, old)
	cpus.Result.GPUs, cpus.Result.CPUs = 0, 16
	waiting := replayOf("fifo", 1, old)
	for i := range waiting.Result.Jobs {
		waiting.Result.Jobs[i].Start, waiting.Result.Jobs[i].End = time.Time{}, time.Time{}
	}
	waiting.Result.Samples = nil
	waiting.Summary = waiting.Result.Summary()
	for _, c := range []struct {
		all  []Replay
		want string
		not  string
	}{
		{[]Replay{cpus}, "days\n", "since"},
		{[]Replay{cpus}, "fleet's CPUs\n", "fleet's GPUs"},
		{[]Replay{waiting}, "never started\n2\n", "NaN"},
		{nil, "mean wait\n", "NaN"},
	} {
		files, err := Write(filepath.Join(t.TempDir(), "picture"), strings.Repeat("a title that is too long ", 20), c.all)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(words(t, files[0]), "&#39;", "'")
		if !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("the picture says no %q, or %q:\n%s", c.want, c.not, got)
		}
		if !strings.Contains(got, "…\n") {
			t.Errorf("the title is not cut:\n%s", got)
		}
	}
}

func TestAmounts(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{0, 32000, "0 5000 10 k 15 k 20 k 25 k 30 k"}, {0, .8, "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8"}, {0, 27.1, "0 5 10 15 20 25"}, {0, 1, "0 0.2 0.4 0.6 0.8 1"}, {0, 1e6, "0 200 k 400 k 600 k 800 k 1 M"}} {
		var got []string
		for _, tick := range (amounts{}).Ticks(c.low, c.high) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v to %v: %s, want %s", c.low, c.high, strings.Join(got, " "), c.want)
		}
	}
}

func TestCurves(t *testing.T) {
	files, err := Curves(filepath.Join(t.TempDir(), "curves"), "Waiting saves", "longer, %", "hours", []Curve{
		{Name: "480", Points: [][2]float64{{1, .8}, {27, .2}}, Labels: []string{"$20"}}, {Name: "goal", Points: [][2]float64{{6, .5}}, Lone: true}})
	if err != nil {
		t.Fatal(err)
	}
	if got := words(t, files[0]); !strings.Contains(got, "$20\n") || !strings.Contains(got, "goal\n") || strings.Contains(got, ".00\n") {
		t.Errorf("the picture says\n%s", got)
	}
}

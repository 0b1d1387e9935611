package idle

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var day0 = time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)

// follow is a run as the controller follows it: it returns what was due, and when.
type follow struct {
	rule Rule
	qos  string
	s    Stretch
	rec  *Record
	told []Stage
	at   []time.Time
}

func (f *follow) see(u Use) {
	f.s.See(&f.rule, u)
	stage := f.rule.Next(f.rec, f.qos, f.s.Since(&f.rule, u.At), u.At)
	if stage == Nothing {
		return
	}
	if f.rec == nil {
		f.rec = &Record{}
	}
	switch stage {
	case TellUser:
		f.rec.Told = u.At
	case TellLead:
		f.rec.Lead = u.At
	case End:
		f.rec.Ended, f.rec.Act = u.At, f.rule.Act[f.qos]
	}
	f.told, f.at = append(f.told, stage), append(f.at, u.At)
}

func gpus(at time.Time, percent float64) Use {
	return Use{At: at, CPUs: 16, GPUs: 8, GPU: percent, KnowsGPU: true}
}

// Each stage comes after another hour, and the last only where the QOS says so.
func TestStages(t *testing.T) {
	for qos, want := range map[string][]Stage{"": {TellUser, TellLead}, "debug": {TellUser, TellLead, End}} {
		f := follow{rule: Default(), qos: qos}
		f.rule.Act = map[string]Act{"debug": Cancel}
		for m := range 400 {
			f.see(gpus(day0.Add(time.Duration(m)*time.Minute), 0))
		}
		if len(f.told) != len(want) {
			t.Fatalf("QOS %q: %v, want %v", qos, f.told, want)
		}
		for i, s := range want {
			if at := f.at[i].Sub(day0); f.told[i] != s || at != time.Duration(i+1)*time.Hour {
				t.Errorf("QOS %q: stage %d is %s after %s, want %s after %dh", qos, i, f.told[i], at, s, i+1)
			}
		}
	}
}

// The use of CPUs counts for jobs without GPUs alone, and only where it is configured.
func TestCPUs(t *testing.T) {
	for _, c := range []struct {
		what    string
		cpu     float64
		gpus    int
		perHour time.Duration // CPU time of 4 CPUs
		found   bool
	}{
		{"a sleeping job", 5, 0, time.Minute, true},
		{"a busy one", 5, 0, 4 * time.Hour, false},
		{"one of four CPUs is busy", 5, 0, time.Hour, false},
		{"a sleeping job where the rule does not ask", 0, 0, 0, false},
		{"a job with GPUs of which nothing is known", 5, 1, 0, false},
	} {
		f := follow{rule: Rule{GPU: 5, CPU: c.cpu, For: time.Hour}}
		for m := range 70 {
			f.see(Use{At: day0.Add(time.Duration(m) * time.Minute), CPUs: 4, GPUs: c.gpus, CPUTime: time.Duration(m) * c.perHour / 60, KnowsCPU: true})
		}
		if (len(f.told) > 0) != c.found {
			t.Errorf("%s: told %v", c.what, f.told)
		}
	}
	f := follow{rule: Rule{CPU: 5, For: time.Hour}} // steps that end take their CPU time with them
	for m := range 200 {
		f.see(Use{At: day0.Add(time.Duration(m) * time.Minute), CPUs: 4, CPUTime: time.Duration(m%2) * 20 * time.Second, KnowsCPU: true})
	}
	if len(f.told) > 0 {
		t.Errorf("a job of short steps: %v", f.told)
	}
}

// After a gap it starts again: what happened meanwhile is not known.
func TestGap(t *testing.T) {
	f := follow{rule: Default()}
	at := day0
	for range 5 {
		for range 50 {
			at = at.Add(time.Minute)
			f.see(gpus(at, 0))
		}
		at = at.Add(6 * time.Minute)
	}
	if len(f.told) > 0 {
		t.Errorf("told %v at %v", f.told, f.at)
	}
	if !f.s.Since(&f.rule, at.Add(10*time.Minute)).IsZero() {
		t.Error("an old reading counts")
	}
}

// Whatever is read, nothing is told twice of a run, nothing sooner than after For in which all was known and idle, and what is due follows its order.
func TestNever(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := follow{rule: Rule{GPU: 5, CPU: 5, For: time.Hour, Act: map[string]Act{"q": Requeue}}, qos: rapid.SampledFrom([]string{"", "q"}).Draw(t, "qos")}
		at := day0
		clean := at // since when all readings were known and idle
		var last Use
		told := map[Stage]bool{}
		order := map[Stage]int{TellUser: 1, TellLead: 2, End: 3}
		stages := 0
		bias := rapid.IntRange(1, 200).Draw(t, "bias")
		for range rapid.IntRange(1, 600).Draw(t, "readings") {
			step := time.Minute
			if rapid.IntRange(0, bias).Draw(t, "late") == 0 {
				step = time.Duration(rapid.IntRange(0, 30).Draw(t, "minutes")) * time.Minute
			}
			before := at
			at = at.Add(step)
			u := Use{At: at, CPUs: 4, GPUs: 2, KnowsGPU: true}
			if rapid.IntRange(0, bias).Draw(t, "other") == 0 {
				u.KnowsGPU, u.GPU = rapid.Bool().Draw(t, "knows"), float64(rapid.IntRange(0, 100).Draw(t, "percent"))
			}
			if step > f.rule.gap() || last.At.IsZero() {
				clean = at
			}
			if step > 0 {
				if !u.KnowsGPU || u.GPU >= f.rule.GPU {
					clean = at
				} else if clean.Equal(before) && last.At.IsZero() {
					clean = at
				}
				last = u
			}
			n := len(f.told)
			f.see(u)
			if len(f.told) == n {
				continue
			}
			s := f.told[n]
			switch {
			case told[s]:
				t.Fatalf("%s twice", s)
			case order[s] != stages+1:
				t.Fatalf("%s after %d stages", s, stages)
			case at.Sub(clean) < f.rule.For:
				t.Fatalf("%s at %s: it is known to be idle since %s only", s, at, clean)
			case s == End && f.qos == "":
				t.Fatal("ended without a word of its QOS")
			}
			told[s] = true
			stages++
		}
	})
}

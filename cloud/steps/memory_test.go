package steps

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fsub/cloud/layout"
	"fsub/cloud/steps/wire"
)

// TestMemoryOfRun: whoever is the job's user may send what they like, and the agent holds so much of it at a time, refuses the rest with a sentence, and serves others.
func TestMemoryOfRun(t *testing.T) {
	s, dir := newService(t), t.TempDir()
	if _, err := s.AddRun(Run{Launch: launch("a", 1, 4), Dir: dir}); err != nil {
		t.Fatal(err)
	}
	r := s.run("a")
	r.memory.most = 4 << 20
	released := func() {
		held := -1
		for end := time.Now().Add(2 * time.Minute); held != 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
			r.memory.mu.Lock()
			held = r.memory.held
			r.memory.mu.Unlock()
		}
		if held != 0 {
			t.Fatalf("%d bytes are held of nothing", held)
		}
	}
	ask := func(name string, text []byte, want wire.Kind, words string) {
		c, err := Dial(filepath.Join(dir, "steps"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := wire.NewWriter(c).Write(wire.Create, 0, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f, err := wire.NewReader(c).Read()
		if err != nil || f.Kind != want || !strings.Contains(string(f.Payload), words) {
			t.Errorf("%s: frame %d %.300q, %v, want %d with %q", name, f.Kind, f.Payload, err, want, words)
		}
		c.Close()
		released() // some time after the answer
	}
	request := func(env ...string) []byte {
		text, err := json.Marshal(wire.Request{Name: "x", TestOnly: true, Parts: []wire.Part{{Ask: layout.Step{Tasks: 1}, Argv: []string{"true"}, Env: env}}})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	const sentence = "need more than the memory of 4 MiB that the agent of this node has for them at a time"
	for range 3 {
		ask("usual", request(strings.Repeat("x", 100<<10)), wire.Created, "")
		ask("large", request(strings.Repeat("x", 8<<20)), wire.Refused, sentence)
		ask("large when read", request(strings.Repeat("x", 2<<20)), wire.Refused, sentence)
		ask("many parts", []byte(`{"parts":[`+strings.Repeat(`{},`, 10_000)+`{}]}`), wire.Refused, sentence)
		ask("many programs", []byte(`{"parts":[{"programs":[`+strings.Repeat(`null,`, 100_000)+`{}]}]}`), wire.Refused, sentence)
		ask("nonsense", []byte(`{"parts":7`), wire.Refused, "do not understand each other")
	}
	s.RemoveRun("a")
	released()
}

// TestWeight: reading a request never takes more than it was weighed, whatever it is made of.
func TestWeight(t *testing.T) {
	many := func(s string) string { return strings.Repeat(s+",", 20_000) + s }
	for name, text := range map[string]string{
		"parts":    `{"parts":[` + many(`{}`) + `]}`,
		"nulls":    `{"parts":[` + many(`null`) + `]}`,
		"programs": `{"parts":[{"programs":[` + many(`{}`) + `]}]}`,
		"ranks":    `{"parts":[{"programs":[{"ranks":[` + many(`1`) + `]}]}]}`,
		"limits":   `{"parts":[{"limits":[` + many(`null`) + `]}]}`,
		"words":    `{"parts":[{"env":[` + many(`""`) + `]}]}`,
		"quotes":   `{"parts":[{"env":[` + many(`"\"[{,}]\\"`) + `]}]}`,
		"options":  `{"parts":[` + many(`{"container":{},"stdin":{"rank":1}}`) + `]}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		req, err := wire.JSON[wire.Request](wire.Frame{Payload: []byte(text)})
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(name, err)
		}
		weighed := weight([]byte(text))
		if size := requestSize(&req); size > weighed {
			t.Errorf("%s: %d bytes, weighed %d", name, size, weighed)
		}
		if took := int(after.TotalAlloc - before.TotalAlloc); took > 4*weighed { // with all that is garbage by then
			t.Errorf("%s: took %d bytes, weighed %d", name, took, weighed)
		}
	}
}

// TestRoom: the words of a step are there for each of its tasks: too many are refused, others wait until there is room.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := &run{memory: &memory{most: 100 << 20}}
		of := func(tasks, size int) *wire.NodeLaunch {
			l := &wire.NodeLaunch{}
			for range tasks {
				l.Tasks = append(l.Tasks, wire.Task{Argv: []string{strings.Repeat("x", size)}})
			}
			return l
		}
		if _, err := r.room(ctx, of(512, 1<<20)); err == nil || !strings.Contains(err.Error(), "take 512 MiB, and a step may have 64") {
			t.Error(err)
		}
		if _, err := r.room(ctx, of(40, 1<<20)); !errors.Is(err, errMemory) {
			t.Error(err)
		}
		back, err := r.room(ctx, of(20, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Hour, back)
		began := time.Now()
		if _, err := r.room(ctx, of(20, 1<<20)); err != nil || time.Since(began) < time.Hour {
			t.Error(err, time.Since(began))
		}
		time.AfterFunc(time.Hour, cancel)
		if _, err := r.room(ctx, of(20, 1<<20)); !errors.Is(err, errMemory) {
			t.Error("the run has ended:", err)
		}
	})
}

// TestMemoryOfMeetings: what MPI programs exchange counts as well, until all have it.
func TestMemoryOfMeetings(t *testing.T) {
	m := &memory{most: 1000}
	st := &step{hold: m.holding(), nodes: make([]*wire.Writer, 2)}
	if err := st.meet(0, wire.Meeting{ID: "a", Data: make([]byte, 200)}); err != nil || m.held < 600 {
		t.Error(err, m.held)
	}
	if err := st.meet(0, wire.Meeting{ID: "b", Data: make([]byte, 200)}); !errors.Is(err, errMemory) {
		t.Error(err)
	}
	st.hold.close()
	if m.held != 0 {
		t.Errorf("%d bytes are held of nothing", m.held)
	}
	st = &step{hold: m.holding(), nodes: make([]*wire.Writer, 2)}
	for i := range 20 {
		if err := st.meet(i%2, wire.Meeting{ID: "c", Data: make([]byte, 200)}); err != nil {
			t.Fatal(i, err)
		}
	}
	if m.held != 0 {
		t.Errorf("%d bytes are held of nothing", m.held)
	}
}

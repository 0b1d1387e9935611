package controller

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/pack"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// packFiles are the files of packs, in memory.
type packFiles struct {
	files map[string]string
	fail  error
}

func (f *packFiles) Write(_ context.Context, _ *federation.Job, name string, appendTo bool, text string) error {
	if f.fail != nil {
		return f.fail
	}
	if appendTo {
		text = f.files[name] + text
	}
	f.files[name] = text
	return nil
}

func (f *packFiles) Read(_ context.Context, _ *federation.Job, names []string) ([][]byte, error) {
	out := make([][]byte, len(names))
	for i, name := range names {
		if text, is := f.files[name]; is {
			out[i] = []byte(text + "")
			if out[i] == nil {
				out[i] = []byte{}
			}
		}
	}
	return out, f.fail
}

func (f *packFiles) Remove(_ context.Context, _ *federation.Job, names []string) error {
	for _, name := range names {
		delete(f.files, name)
	}
	return nil
}

// packBench is a bench whose sites run packs. Tests say what the scripts of the packs write.
type packBench struct {
	*bench
	files *packFiles
}

func newPackBench(t *testing.T) *packBench {
	b := &packBench{bench: newBench(t), files: &packFiles{files: map[string]string{}}}
	b.with(func(c *Config) { c.PackFiles = b.files })
	return b
}

// packed submits an array with --pack=SIZE:SIDE.
func (b *packBench) packed(array string, size, side int) federation.JobID {
	return b.submit(func(s *sbatch.Spec) {
		s.Array, s.GPUsPerNode, s.TimeLimit, s.WorkDir = array, "1", 10*time.Minute, "/w"
		s.Fed = &sbatch.Fed{Pack: &sbatch.Pack{Size: size, Side: side}}
	})
}

// packs are the site jobs that are no jobs of the federation, in order.
func (b *packBench) packs() (ids []federation.JobID) {
	for _, s := range []*fakeSite{b.cheap, b.dear} {
		for id := range s.jobs {
			if _, err := b.store.Job(b.t.Context(), id); err != nil {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

func (b *packBench) siteOf(id federation.JobID) *fakeSite {
	if b.cheap.jobs[id] != nil {
		return b.cheap
	}
	return b.dear
}

// say is what the script of a pack writes: "3 s", "3 e 0 0 -"; the time is put in.
func (b *packBench) say(id federation.JobID, lines ...string) {
	status, _ := pack.Names("/w", id)
	for _, line := range lines {
		f := strings.Fields(line)
		at := fmt.Sprint(b.clock.Unix())
		if f[0] == "up" {
			b.files.files[status] += "up " + at + "\n"
			continue
		}
		b.files.files[status] += strings.Join(slices.Insert(f, 2, at), " ") + "\n"
	}
}

func (b *packBench) told(id federation.JobID) string {
	_, control := pack.Names("/w", id)
	return b.files.files[control]
}

// TestPack: tasks share jobs, each ends as it does, and costs its part; the time that the job may run is that of all of its tasks.
func TestPack(t *testing.T) {
	b := newPackBench(t)
	var callers []federation.JobID
	b.with(func(c *Config) {
		c.Environment = func(_ federation.SiteName, j *federation.Job, env []string) []string {
			callers = append(callers, j.ID)
			return env
		}
	})
	id := b.packed("0-9", 4, 2)
	b.rounds(6)
	packs := b.packs()
	if want := []federation.JobID{id, id, id}; !slices.Equal(callers, want) { // the packs are in no store
		t.Errorf("commands in the jobs call as those of jobs %v, want %v", callers, want)
	}
	if len(packs) != 3 || b.cheap.submits+b.dear.submits != 3 {
		t.Fatalf("packs %v", packs)
	}
	p := packs[0]
	s := b.siteOf(p)
	if got := s.asked[p]; got.TimeLimit != 2*10*time.Minute+2*time.Minute || got.Output != "/dev/null" || *got.Requeue || got.Array != "" {
		t.Errorf("the site was asked for %+v", got)
	}
	if m := b.part(id, 0); m.State != federation.Pending || m.Site == "" || m.Attempt != 1 || m.Spec.TimeLimit != 10*time.Minute {
		t.Errorf("task 0: %+v", m)
	}
	s.start(p)
	s.jobs[p].TRES = "cpu=4,mem=1001M,node=1,gres/gpu=1,gres/gpu:h100=1"
	b.say(p, "up", "0 s", "1 s")
	b.wait(3 * time.Second)
	for i, want := range []federation.State{federation.Running, federation.Running, federation.Pending, federation.Pending} {
		if m := b.part(id, i); m.State != want || m.State == federation.Running && (m.Start.IsZero() || m.Nodes != "n1") {
			t.Errorf("task %d: %s since %v at %s, want %s", i, m.State, m.Start, m.Nodes, want)
		}
	}
	if b.job(id).State != federation.Running {
		t.Errorf("the array is %s", b.job(id).State)
	}
	b.clock = b.clock.Add(time.Hour)
	b.say(p, "0 e 0 0 -", "1 e 7 0 -", "2 s", "3 s")
	b.wait(3 * time.Second)
	b.restart()
	b.clock = b.clock.Add(time.Minute)
	b.say(p, "2 e 0 9 -", "3 e 0 15 T")
	b.wait(4 * time.Second)
	for i, want := range []struct {
		state  federation.State
		exit   int32
		reason reasons.Reason
	}{{federation.Completed, 0, reasons.None}, {federation.Failed, 7 << 8, reasons.NonZeroExit}, {federation.Failed, 9, reasons.NonZeroExit}, {federation.Timeout, 15, reasons.TimeLimit}} {
		m := b.part(id, i)
		if m.State != want.state || m.ExitStatus != want.exit || m.Reason != want.reason || m.Attempt != 1 {
			t.Errorf("task %d: %s %s, status %d, attempt %d; want %+v", i, m.State, m.Reason, m.ExitStatus, m.Attempt, want)
		}
	}
	charges := b.charges(b.part(id, 0).ID)
	if len(charges) != 1 || charges[0].TRES != "cpu=2,mem=501M,node=1,gres/gpu=1,gres/gpu:h100=1" || charges[0].End.Sub(charges[0].Start) < time.Hour {
		t.Errorf("task 0 is charged %+v", charges)
	}
	s.end(p, federation.Completed)
	for _, q := range packs[1:] {
		s := b.siteOf(q)
		s.start(q)
		b.say(q, "up")
		for i := range 10 {
			b.say(q, fmt.Sprintf("%d s", i), fmt.Sprintf("%d e 0 0 -", i)) // also of tasks that are not its own
		}
		s.end(q, federation.Completed)
	}
	b.wait(6 * time.Second)
	if j := b.job(id); j.State != federation.Failed && j.State != federation.Timeout {
		t.Errorf("the array is %s", j.State)
	}
	if len(b.files.files) != 0 || len(b.ctl.jobs.packs) != 0 {
		t.Errorf("left: %v, %v", b.files.files, b.ctl.jobs.packs)
	}
}

// TestPackRequests: what is asked of one task is done to that one.
func TestPackRequests(t *testing.T) {
	b := newPackBench(t)
	id := b.packed("0-5", 6, 0)
	b.rounds(6)
	p := b.packs()[0]
	s := b.siteOf(p)
	s.start(p)
	b.say(p, "up", "0 s")
	b.wait(3 * time.Second)
	ask := func(kind action.Kind, task int) {
		r := action.Request{Job: id, Tasks: federation.Tasks(task), Kind: kind, UID: 7001, At: b.clock}
		if kind == action.Signal {
			r.Signal = federation.Signal{Name: "USR1"}
		}
		b.request(r)
	}
	ask(action.Signal, 0)
	ask(action.Cancel, 1)
	ask(action.Hold, 2)
	b.rounds(4)
	ask(action.Requeue, 0)
	b.rounds(6)
	if got := b.told(p); got != "kill 1\nkill 2\nsignal USR1 0\nkill 0\n" && got != "signal USR1 0\nkill 1\nkill 2\nkill 0\n" {
		t.Errorf("the script was told %q", got)
	}
	if len(s.cancelled) != 0 || len(s.held) != 0 {
		t.Errorf("the site was asked to cancel %v, hold %v", s.cancelled, s.held)
	}
	b.say(p, "0 e 0 15 C", "1 x", "2 x", "3 s")
	b.wait(3 * time.Second)
	if m := b.part(id, 1); m.State != federation.Cancelled || !m.Start.IsZero() {
		t.Errorf("task 1 is %s", m.State)
	}
	if m := b.part(id, 2); m.State != federation.Pending || m.Held != federation.HeldUser || m.Site != "" {
		t.Errorf("task 2 is %s, %q at %q", m.State, m.Held, m.Site)
	}
	if m := b.part(id, 0); m.State.Ended() || m.Restarts != 1 {
		t.Errorf("task 0 is %s after %d restarts", m.State, m.Restarts)
	}
	if m := b.part(id, 3); m.State != federation.Running {
		t.Errorf("task 3 is %s", m.State)
	}
	b.request(action.Request{Job: id, Kind: action.Cancel, UID: 7001, At: b.clock}) // all of it
	b.rounds(6)
	if !slices.Contains(s.cancelled, p) {
		t.Fatalf("cancelled %v", s.cancelled)
	}
	b.wait(6 * time.Second)
	for _, m := range b.partsOf(id) {
		if m.State != federation.Cancelled {
			t.Errorf("task %d is %s", m.Part.Index, m.State)
		}
	}
}

// TestPackLost: whatever becomes of the job that tasks share, those that have ended stay so, and the others run again.
func TestPackLost(t *testing.T) {
	for name, end := range map[string]func(b *packBench, s *fakeSite, p federation.JobID){
		"node failure": func(b *packBench, s *fakeSite, p federation.JobID) { s.end(p, federation.NodeFail) },
		"preempted":    func(b *packBench, s *fakeSite, p federation.JobID) { s.end(p, federation.Preempted) },
		"forgotten": func(b *packBench, s *fakeSite, p federation.JobID) {
			b.wait(2 * time.Minute)
			delete(s.jobs, p)
		},
		"time limit": func(b *packBench, s *fakeSite, p federation.JobID) { s.end(p, federation.Timeout) },
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %t", name, restart), func(t *testing.T) {
				b := newPackBench(t)
				id := b.packed("0-3", 4, 0)
				b.rounds(6)
				p := b.packs()[0]
				s := b.siteOf(p)
				s.start(p)
				b.say(p, "up", "0 s")
				b.wait(3 * time.Second)
				b.say(p, "0 e 3 0 -", "1 s", "1 e 0 0 -", "2 s") // which nobody has read before the end
				if restart {
					b.restart()
				}
				end(b, s, p)
				b.wait(20 * time.Second)
				for i, want := range []federation.State{federation.Failed, federation.Completed} {
					if m := b.part(id, i); m.State != want || m.Attempt != 1 {
						t.Errorf("task %d is %s after %d attempts", i, m.State, m.Attempt)
					}
				}
				for i := 2; i < 4; i++ {
					if m := b.part(id, i); m.State.Ended() || m.Attempt != 2 {
						t.Errorf("task %d is %s after %d attempts", i, m.State, m.Attempt)
					}
				}
			})
		}
	}
}

// TestUnpacked: where the files cannot be written, or the node does not see them, tasks run one by one.
func TestUnpacked(t *testing.T) {
	t.Run("not written", func(t *testing.T) {
		b := newPackBench(t)
		b.files.fail = fmt.Errorf("%w: permission denied", federation.ErrDenied)
		id := b.packed("0-3", 2, 0)
		b.rounds(12)
		if len(b.packs()) != 0 || b.cheap.submits+b.dear.submits != 4 || !strings.Contains(b.history(id), "do not share jobs at") {
			t.Errorf("%d submissions; %s", b.cheap.submits+b.dear.submits, b.history(id))
		}
	})
	t.Run("not seen", func(t *testing.T) {
		b := newPackBench(t)
		id := b.packed("0-1", 2, 0)
		b.rounds(6)
		p := b.packs()[0]
		s := b.siteOf(p)
		s.start(p)
		s.end(p, federation.Failed)
		s.jobs[p].ExitStatus = pack.Unseen << 8
		b.wait(5 * time.Second)
		if h := b.history(id); !strings.Contains(h, "node n1 does not see /w") {
			t.Error(h)
		}
		for i := range 2 {
			if m := b.part(id, i); m.State != federation.Pending || m.Attempt != 2 {
				t.Errorf("task %d is %s after %d attempts", i, m.State, m.Attempt)
			}
		}
	})
}

// TestPackThrottle: a pack counts as those of its tasks that run at once.
func TestPackThrottle(t *testing.T) {
	b := newPackBench(t)
	b.packed("0-29%3", 5, 2)
	b.rounds(10)
	sides := 0
	for _, p := range b.ctl.jobs.packs {
		sides += p.pack.side
	}
	if n := len(b.packs()); sides != 3 || n != 2 {
		t.Errorf("%d packs of %d tasks at once", n, sides)
	}
}

// TestPackedOnce: whatever happens to sites, daemons and scripts, each task of an array ends once, as its script says.
func TestPackedOnce(t *testing.T) {
	for seed := range 25 {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(seed), 30))
			b := newPackBench(t)
			id := b.packed("0-19", 2+rng.IntN(8), 1+rng.IntN(2))
			ended := map[int]int{}
			note := func(index int) { ended[index]++ }
			for n := 0; !b.job(id).State.Ended(); n++ {
				if n == 400 {
					t.Fatalf("does not end: %v", ended)
				}
				for _, s := range []*fakeSite{b.cheap, b.dear} {
					for _, p := range slices.Sorted(maps.Keys(s.jobs)) {
						j := s.jobs[p]
						status, _ := pack.Names("/w", p)
						single := false
						if m, err := b.store.Job(t.Context(), p); err == nil && m.Part != nil {
							single = true
							if j.State == federation.Running && rng.IntN(2) == 0 {
								s.end(p, federation.Completed)
								note(m.Part.Index)
							}
						}
						switch {
						case j.State == federation.Pending && rng.IntN(2) == 0:
							s.start(p)
							if !single {
								b.say(p, "up")
							}
						case j.State != federation.Running || single:
						default:
							pk := b.ctl.jobs.packs[p]
							st := pack.Read([]byte(b.files.files[status]))
							left := 0
							if pk != nil {
								for _, m := range pk.pack.members {
									r := st.Tasks[m.Part.Index]
									switch {
									case r.Done():
									case r.Start.IsZero() && rng.IntN(3) == 0:
										b.say(p, fmt.Sprintf("%d s", m.Part.Index))
										left++
									case !r.Start.IsZero() && rng.IntN(2) == 0:
										b.say(p, fmt.Sprintf("%d e 0 0 -", m.Part.Index))
										note(m.Part.Index)
									default:
										left++
									}
								}
							}
							if left == 0 {
								s.end(p, federation.Completed)
							} else if rng.IntN(12) == 0 {
								s.end(p, []federation.State{federation.NodeFail, federation.Preempted, federation.Timeout}[rng.IntN(3)])
							}
						}
					}
				}
				b.rounds(1 + rng.IntN(12))
				switch rng.IntN(10) {
				case 0:
					b.restart()
					b.rounds(3)
				case 1:
					s := []*fakeSite{b.cheap, b.dear}[rng.IntN(2)]
					if s.fail = nil; rng.IntN(2) == 0 {
						s.fail = federation.ErrUnavailable
					}
				case 2:
					b.cheap.failAfter = federation.ErrUnavailable
				default:
					b.cheap.fail, b.dear.fail = nil, nil
				}
			}
			for _, m := range b.partsOf(id) {
				if n := ended[m.Part.Index]; n != 1 || m.State != federation.Completed {
					t.Errorf("task %d has ended %d times, is %s after %d attempts; %s", m.Part.Index, n, m.State, m.Attempt, b.history(m.ID))
				}
			}
		})
	}
}

// TestPackOrphan: a pack that turns up when its tasks have gone elsewhere is cancelled, and one whose tasks have ended if it does not end by itself.
func TestPackOrphan(t *testing.T) {
	b := newPackBench(t)
	id := b.packed("0-1", 2, 0)
	b.rounds(6)
	p := b.packs()[0]
	s := b.siteOf(p)
	s.start(p)
	b.wait(2 * time.Minute)
	copied := *s.jobs[p]
	delete(s.jobs, p)
	b.wait(20 * time.Second)
	if m := b.part(id, 0); m.Attempt != 2 {
		t.Fatalf("task 0: %+v", m)
	}
	s.jobs[p] = &copied
	b.wait(6 * time.Second)
	if !slices.Contains(s.cancelled, p) {
		t.Errorf("cancelled %v", s.cancelled)
	}

	b.packed("0-1", 2, 0)
	b.rounds(6)
	q := b.packs()[len(b.packs())-1]
	s = b.siteOf(q)
	s.start(q)
	b.say(q, "up", "0 s", "1 s", "0 e 0 0 -", "1 e 0 0 -")
	b.wait(10 * time.Second)
	if slices.Contains(s.cancelled, q) {
		t.Error("cancelled at once")
	}
	b.wait(40 * time.Second)
	if !slices.Contains(s.cancelled, q) || len(b.ctl.jobs.packs) != 0 {
		t.Errorf("cancelled %v; %v", s.cancelled, b.ctl.jobs.packs)
	}
}

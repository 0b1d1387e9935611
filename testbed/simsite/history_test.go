package simsite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// play lets a site live through jobs, faults and crashes drawn from a seed and returns what was seen of it. check is
// called after every step.
func play(t *testing.T, seed uint64, steps int, check func(*Site)) (trace string, s *Site) {
	s = newSite(t, func(c *Config) {
		c.Seed, c.MinJobAge, c.Completing = seed, time.Minute, time.Duration(seed%3)*time.Second
	})
	s.Inject(Fault{Kind: LoseReply, Prob: 0.05, Ops: []Op{OpSubmit}})
	s.Inject(Fault{Kind: Drop, Prob: 0.05})
	s.Inject(Fault{Kind: Slow, Prob: 0.2, Delay: 30 * time.Millisecond})
	rng := rand.New(rand.NewPCG(seed, 7))
	h := sha256.New()
	for i := range steps {
		fmt.Fprintln(h, i, s.Now())
		step(s, rng, int64(federation.FirstJobID)+int64(i), h)
		s.Advance(time.Duration(rng.IntN(3000)) * time.Millisecond)
		ask(s, h, "GET", "jobs/state/", nil)
		check(s)
	}
	s.ClearFaults()
	s.StartController()
	for _, n := range []string{"a1", "a2", "a3", "a4"} {
		s.NodeUp(n)
	}
	s.Advance(2 * time.Hour)
	check(s)
	fmt.Fprintf(h, "%+v\n", s.Stats())
	for i := range steps {
		fmt.Fprintf(h, "%+v\n", s.Runs(uint32(federation.FirstJobID)+uint32(i)))
	}
	return hex.EncodeToString(h.Sum(nil)), s
}

// ask makes one call of the site's API and writes down how it went.
func ask(s *Site, h hash.Hash, method, path string, body any) {
	raw, _ := json.Marshal(body)
	r, _ := http.NewRequest(method, "http://x/slurm/v0.0.42/"+path, bytes.NewReader(raw))
	r.Header.Set(wire.HeaderUser, "slurm")
	resp, err := s.Transport().RoundTrip(r)
	fmt.Fprintln(h, err)
	if err == nil {
		fmt.Fprintln(h, resp.StatusCode)
		io.Copy(h, resp.Body)
	}
}

func step(s *Site, rng *rand.Rand, id int64, h hash.Hash) {
	switch x := rng.IntN(100); {
	case x < 80:
		d := desc(0, pinned(id, "fsub:f:"+itoa(uint32(id))+".1.x"))
		drawDesc(rng, d)
		d.Script = fmt.Sprintf("#!/bin/sh\n#SIM run=%ds exit=%d\n", rng.IntN(90), rng.IntN(8)/7)
		ask(s, h, "POST", "job/submit", wire.JobSubmitRequest{Job: d})
	case x < 86:
		ask(s, h, "DELETE", "job/"+itoa(uint32(id)-uint32(rng.IntN(20))), nil)
	case x < 89:
		s.KillController(CrashOptions{KeepChanges: rng.IntN(2) == 0, ForgetEnded: rng.IntN(3) == 0})
	case x < 93:
		s.StartController()
	case x < 95:
		s.NodeDown("a"+fmt.Sprint(1+rng.IntN(4)), "test")
	case x < 98:
		s.NodeUp("a" + fmt.Sprint(1+rng.IntN(4)))
	default:
		s.SetSlurmdbd(rng.IntN(2) == 0)
	}
}

func drawDesc(rng *rand.Rand, d *wire.JobDesc) {
	if rng.IntN(3) == 0 {
		d.TRESPerNode = fmt.Sprintf("gres/gpu:%d", 1+rng.IntN(4))
	}
	if rng.IntN(4) == 0 {
		d.Tasks = 1 + rng.IntN(4)
		d.Nodes = fmt.Sprintf("%d-%d", d.Tasks, d.Tasks)
	}
	if rng.IntN(6) == 0 {
		d.Array = fmt.Sprintf("0-%d%%%d", rng.IntN(9), 1+rng.IntN(4))
	}
	d.CPUsPerTask = 1 + rng.IntN(8)
	d.TimeLimit = wire.Num(int64(1 + rng.IntN(3)))
	if rng.IntN(3) == 0 {
		no := false
		d.Requeue = &no
	}
}

// sound fails unless the site's books agree with each other: nodes hold what their jobs hold, no more than they have, and
// the counts and the queue are right.
func sound(t *testing.T, s *Site) {
	t.Helper()
	s.lock()
	defer s.mu.Unlock()
	if s.down {
		return
	}
	pending, running := 0, 0
	used := map[*node][3]int{}
	for id, j := range s.jobs {
		if s.order[j.pos] != j || j.id != id {
			t.Fatalf("job %d is misfiled", id)
		}
		switch {
		case j.state == federation.Pending:
			pending += j.units()
		case j.state == federation.Running || j.closing:
			if !j.closing {
				running++
			}
			for _, sh := range j.shares {
				u := used[sh.n]
				used[sh.n] = [3]int{u[0] + sh.cpus, u[1] + int(sh.mem), u[2] + sh.gres[0]}
			}
			if j.queued {
				t.Errorf("job %d runs and is queued", id)
			}
		}
	}
	for _, n := range s.nodes {
		if u := used[n]; u != [3]int{n.usedCPUs, int(n.usedMem), n.gres[0].Used} || u[0] > n.cpus || u[2] > n.gres[0].Total || u[1] > int(n.mem) {
			t.Errorf("node %s: %v by its jobs, %d %d %d by its own count", n.name, u, n.usedCPUs, n.usedMem, n.gres[0].Used)
		}
	}
	if pending != s.pending || running != s.running {
		t.Errorf("%d pending, %d running; the counts say %d and %d", pending, running, s.pending, s.running)
	}
	for r := range s.active {
		if j := r.job; s.jobs[j.id] != j || j.run != r || j.state != federation.Running {
			t.Errorf("run of job %d is alive and its controller, which is up, does not know it: %+v", r.JobID, r.Run)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

func TestHistories(t *testing.T) {
	for seed := range uint64(30) {
		trace, s := play(t, seed, 300, func(s *Site) { sound(t, s) })
		if p, r := s.Counts(); p != 0 || r != 0 {
			t.Errorf("seed %d: %d pending and %d running two hours after all faults: %+v", seed, p, r, s.Jobs())
		}
		if again, _ := play(t, seed, 300, func(*Site) {}); again != trace {
			t.Errorf("seed %d: two histories", seed)
		}
	}
}

// TestResubmitUntilAcknowledged: with lost requests and replies, but no crashes, submitting again until it is acknowledged
// runs every job once.
func TestResubmitUntilAcknowledged(t *testing.T) { synctest.Test(t, resubmitUntilAcknowledged) }

func resubmitUntilAcknowledged(t *testing.T) {
	s := newSite(t)
	d := restDriver(t, s)
	for _, k := range []FaultKind{Refuse, Drop, LoseReply, Fail500, Gateway504, Truncate, Garbage, Empty, NoReach} {
		s.Inject(Fault{Kind: k, Prob: 0.1})
	}
	for i := range federation.JobID(2000) {
		sub := submission(federation.FirstJobID+i, script("#SIM run=1s"))
		for {
			_, err := d.Submit(context.Background(), sub)
			if err == nil {
				break
			}
			if !errors.Is(err, federation.ErrUnavailable) {
				t.Fatal(err)
			}
		}
		s.Advance(50 * time.Millisecond)
	}
	s.Advance(time.Hour)
	for i := range uint32(2000) {
		s.wantRuns(t, uint32(federation.FirstJobID)+i, RunCompleted)
	}
}

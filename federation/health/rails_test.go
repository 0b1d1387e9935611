package health

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

// rails is a site of 128 nodes, as [fabric] has them, each with eight ports. Its health checks come every five minutes.
type rails struct {
	*fabric
	down  [128]map[int]bool // ports that are down, whether told or not
	told  [128]string
	out   map[int]bool // nodes that are drained
	found []Finding
}

func newRails(seed uint64) *rails {
	r := &rails{fabric: &fabric{rng: rand.New(rand.NewPCG(seed, 11)), now: testTime}, out: map[int]bool{}}
	r.e = NewEngine(Rules(), r.standing)
	for n := range r.down {
		r.down[n] = map[int]bool{}
	}
	return r
}

func (r *rails) standing(id federation.NodeID) Standing {
	is := r.look(id)
	var n int
	fmt.Sscanf(id.Name, "n%d", &n)
	is.Known, is.Out = true, r.out[n]
	return is
}

func railNode(n int) federation.NodeID {
	return federation.NodeID{Site: "alpha", Name: fmt.Sprint("n", n)}
}

// tell has the check of a node run, and returns what followed.
func (r *rails) tell(n int) (found []Finding) {
	var checks []Check
	for port := range 8 {
		if r.down[n][port] {
			checks = append(checks, Check{Code: "check-link", Text: fmt.Sprintf("port 1 of mlx5_%d is DOWN", port), Device: fmt.Sprintf("mlx5_%d:1", port)})
		}
	}
	if text := WriteChecks(checks); text != r.told[n] {
		r.told[n] = text
		found = r.e.Checked(railNode(n), checks, r.now)
	}
	r.found = append(r.found, found...)
	return found
}

// pass lets five minutes pass, and all nodes tell, in any order. It returns at which node a finding of a rail came, and that.
func (r *rails) pass() (told int, f *Finding) {
	for i, n := range r.rng.Perm(128) {
		r.now = r.now.Add(5 * time.Minute / 128)
		for _, f := range r.tell(n) {
			if f.Rule == RuleRail {
				return i, &f
			}
		}
	}
	return 0, nil
}

// chance lets each port go down by itself once in six weeks, for some hours, and now and then all of a node's.
func (r *rails) chance() {
	for n := range r.down {
		for port := range 8 {
			switch is := r.down[n][port]; {
			case !is && r.rng.Float64() < 5./(60*24*42):
				r.down[n][port] = true
			case is && r.rng.IntN(100) == 0:
				delete(r.down[n], port)
			}
		}
		if r.rng.Float64() < 5./(60*24*420) {
			for port := range 8 {
				r.down[n][port] = true
			}
		}
	}
}

// offRail are the nodes that gangs are kept off.
func (r *rails) offRail() (nodes []int) {
	for n := range 128 {
		if r.e.Fabric.BadRail(railNode(n), r.now) != "" {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// TestBadRail: on ten fabrics the leaf switch of one rail goes bad, or half of it: port k of the nodes below one switch or in one block goes down. It is found when at most
// six nodes have told so. Gangs are kept off these nodes and no others, none is suspected by itself, and when the ports are back gangs get them again.
func TestBadRail(t *testing.T) {
	for seed := range uint64(10) {
		r := newRails(seed)
		for n := range r.down { // some have been down for long when the daemon begins
			if r.rng.IntN(12) == 0 {
				r.down[n][r.rng.IntN(8)] = true
			}
		}
		for range 50 {
			r.chance()
			if _, f := r.pass(); f != nil {
				t.Fatalf("seed %d: before anything was bad: %+v", seed, f)
			}
		}
		part, first, size := fmt.Sprint("leaf", r.rng.IntN(16)), 0, 8
		fmt.Sscanf(part, "leaf%d", &first)
		if seed%2 == 1 {
			part, size = fmt.Sprint("block", r.rng.IntN(4)), 32
			fmt.Sscanf(part, "block%d", &first)
		}
		first *= size
		port, hit := r.rng.IntN(8), []int(nil)
		for n := first; n < first+size; n++ {
			if (seed%5 != 4 || n%2 == 0) && !r.down[n][port] {
				r.down[n][port], hit = true, append(hit, n)
			}
		}
		told := func() (n int) {
			for _, h := range hit {
				if strings.Contains(r.told[h], fmt.Sprintf("mlx5_%d:1", port)) {
					n++
				}
			}
			return n
		}
		_, f := r.pass()
		rail := fmt.Sprintf("%s:mlx5_%d:1", part, port)
		if f == nil || told() > 6 || !f.Trips || f.Node.Name != rail && !within(f.Node.Name, rail) {
			t.Fatalf("seed %d: %s is bad on %v; told of %d: %+v", seed, rail, hit, told(), f)
		}
		t.Logf("seed %d: %s is found when %d of %d nodes have told: %s", seed, rail, told(), len(hit), f.Why)
		for range 4 { // the rest, and perhaps the block instead of a leaf
			r.pass()
		}
		if off := r.offRail(); !slices.Equal(off, hit) {
			t.Errorf("seed %d: %s is bad on %v, gangs are kept off %v", seed, rail, hit, off)
		}
		if s := r.e.Suspects(r.now); len(s) > 0 {
			t.Errorf("seed %d: suspected by themselves: %+v", seed, s)
		}
		for _, b := range r.e.Breakers() {
			if !b.Open.IsZero() && !strings.Contains(b.Why, fmt.Sprintf("port mlx5_%d:1 is down on ", port)) {
				t.Errorf("seed %d: %+v", seed, b)
			}
		}
		r.now = r.now.Add(25 * time.Hour)
		if _, next := r.e.Fabric.Over("alpha", r.now); next.IsZero() || len(r.offRail()) != len(hit) {
			t.Errorf("seed %d: after a day gangs try again, though the ports are down", seed)
		}
		for _, n := range hit {
			delete(r.down[n], port)
		}
		r.pass()
		if off := r.offRail(); len(off) > 0 {
			t.Errorf("seed %d: the ports are back, and gangs are kept off %v", seed, off)
		}
		r.now = r.now.Add(railOver)
		if _, next := r.e.Fabric.Over("alpha", r.now); !next.IsZero() {
			t.Errorf("seed %d: an hour after the ports are back the breaker is open", seed)
		}
	}
}

// within reports whether a rail is one of a leaf in the block of another.
func within(small, large string) bool {
	var leaf, block, p, q int
	n, _ := fmt.Sscanf(small, "leaf%d:mlx5_%d:1", &leaf, &p)
	m, _ := fmt.Sscanf(large, "block%d:mlx5_%d:1", &block, &q)
	return n == 2 && m == 2 && p == q && leaf/4 == block
}

// TestHealthyPorts: in 1,000 histories of a day, in which each port goes down by itself once in six weeks, and of a node once in 60 weeks all of them, no rail is blamed.
func TestHealthyPorts(t *testing.T) {
	fails := 0
	for seed := range uint64(1000) {
		r := newRails(1000 + seed)
		for n := range r.down {
			if r.rng.IntN(12) == 0 {
				r.down[n][r.rng.IntN(8)] = true
			}
		}
		for range 24 * 12 {
			r.chance()
			r.now = r.now.Add(5 * time.Minute)
			for n := range r.down {
				for _, f := range r.tell(n) {
					if f.Rule == RuleRail {
						t.Fatalf("seed %d: %+v", seed, f)
					}
				}
			}
		}
		for _, n := range r.e.Nodes() {
			fails += len(n.Down)
		}
	}
	t.Logf("%d ports are down at their ends", fails)
}

// TestManyPorts: where all ports of the nodes below a switch go down it is not one rail; where ports of all nodes do, it is no part of the fabric. Nodes that are drained tell nothing.
func TestManyPorts(t *testing.T) {
	fall := func(r *rails, nodes, ports int) {
		for n := range nodes {
			for port := range ports {
				r.down[n][port] = true
			}
		}
		for range 5 {
			r.pass()
		}
	}
	names := func(r *rails) (open []string) {
		for _, b := range r.e.Breakers() {
			if !b.Open.IsZero() {
				open = append(open, b.Name)
			}
		}
		return open
	}
	r := newRails(1)
	fall(r, 8, 8)
	if open := names(r); !slices.Equal(open, []string{"part:alpha/leaf0:all"}) || len(r.offRail()) != 8 {
		t.Errorf("all ports of a leaf are down, and blamed is %q", open)
	}
	r = newRails(2)
	fall(r, 128, 8)
	if open := names(r); len(open) > 0 {
		t.Errorf("all ports of the site are down, and blamed is %q", open)
	}
	r = newRails(3)
	fall(r, 128, 1)
	if open := names(r); len(open) == 0 || len(r.offRail()) < 120 {
		t.Errorf("one port of all nodes is down, and blamed is %q", open)
	}
	r = newRails(4)
	for n := range 32 {
		r.out[n] = true
	}
	fall(r, 32, 1)
	if open := names(r); len(open) > 0 {
		t.Errorf("nodes are drained, and blamed is %q", open)
	}
}

// TestRailIsRemembered: what is blamed and which ports are down outlive the daemon; what is put in again is no news. An operator closes the breaker, and ports that were down before count no more.
func TestRailIsRemembered(t *testing.T) {
	r := newRails(1)
	for n := range 8 {
		r.down[n][3] = true
	}
	for range 3 {
		r.pass()
	}
	const name = "part:alpha/leaf0:mlx5_3:1"
	was := r.e
	r.e = NewEngine(Rules(), r.standing)
	r.e.Load(was.Nodes(), nil, was.Breakers())
	clear(r.told[:])
	if _, f := r.pass(); f != nil || len(r.offRail()) != 8 {
		t.Fatalf("after a restart %+v, and gangs are kept off %v", f, r.offRail())
	}
	if closed := r.e.Reset(name, r.now); !slices.Equal(closed, []string{name}) || len(r.offRail()) != 0 {
		t.Fatalf("reset closes %q, and gangs are kept off %v", closed, r.offRail())
	}
	r.down[8][3], r.down[9][3] = true, true
	for range 3 {
		if _, f := r.pass(); f != nil {
			t.Fatalf("what was seen before the reset counts: %+v", f)
		}
	}
}

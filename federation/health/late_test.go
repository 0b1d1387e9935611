package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

// TestLateNode: a node that is slow in a running gang is avoided for a while, and five such jobs of two kinds have it avoided for longer. Where the same rank of a kind of jobs was slow on another node, it is
// the job's own work.
func TestLateNode(t *testing.T) {
	f := newFabric(1)
	late := func(job int, like, node string, rank int) (string, []Finding) {
		f.now = f.now.Add(time.Minute)
		x := Late{At: f.now, Job: federation.JobID(job), User: "u", Like: like, Node: federation.NodeID{Site: "alpha", Name: node}, Rank: rank}
		return x.Tell(f.e)
	}
	own, found := late(1, "train", "n3", 2)
	if own != "" || len(found) != 1 || found[0].Rule != "slow-in-gang" || found[0].Node.Name != "n3" || found[0].Until.Sub(f.now) != 30*time.Minute {
		t.Fatalf("%q, %+v", own, found)
	}
	if own, found := late(2, "train", "n9", 2); !strings.Contains(own, "node 2 of such jobs was slow on alpha/n3 too") || len(found) != 0 || f.e.Suspected(federation.NodeID{Site: "alpha", Name: "n9"}, f.now) {
		t.Errorf("%q, %+v", own, found)
	}
	f.now = f.now.Add(time.Hour)
	for i := range 4 { // n3 has been slow in one before
		_, found = late(10+i, fmt.Sprint("kind", i), "n3", 2)
		f.now = f.now.Add(time.Hour)
	}
	if len(found) != 1 || found[0].Rule != "slow" || found[0].Until.Sub(found[0].At) != 4*time.Hour {
		t.Errorf("%+v", found)
	}
}

// TestSlowPart: a leaf makes nodes below it slow in gangs that end well all the same. It is blamed by what their heartbeats have shown, within five such gangs of two users, and gangs that were cancelled count.
func TestSlowPart(t *testing.T) {
	f := newFabric(7)
	f.rate = 0
	for range 300 {
		f.gang()
	}
	for n := 1; n <= 5; n++ {
		f.now = f.now.Add(time.Minute)
		f.job++
		on := []string{fmt.Sprint("n", n), "n40", "n80"}
		x := Ended{At: f.now, Job: federation.JobID(f.job), User: fmt.Sprint("u", n), Like: fmt.Sprint("kind", n), Site: "alpha", Nodes: on, Late: on[:1], End: End{State: federation.Completed, Ran: 2 * time.Hour}}
		if n%2 == 1 {
			x.State = federation.Cancelled
		}
		v, _ := f.e.Ended(x)
		if found := f.e.Fabric.Ended(x, v); len(found) > 0 {
			if found[0].Node.Name != "leaf0" || n < 3 {
				t.Errorf("after %d gangs %+v", n, found[0])
			}
			return
		}
	}
	t.Error("leaf0 is not blamed")
}

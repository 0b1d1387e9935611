package drivertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/driver"
)

// nodesOf are the names of the partition's nodes, with a function that tells how one is now.
func (s *suite) nodesOf() (names []string, now func(name string) federation.Node) {
	s.Helper()
	for _, n := range s.observe().Nodes {
		if slices.Contains(n.Partitions, s.Partition) {
			names = append(names, n.Name)
		}
	}
	return names, func(name string) federation.Node {
		s.Helper()
		for _, n := range s.observe().Nodes {
			if n.Name == name {
				return n
			}
		}
		s.Fatalf("the site lists no node %s any more", name)
		return federation.Node{}
	}
}

// setNodes has nodes drained or resumed. A site whose token may not is one that has changed nothing.
func (s *suite) setNodes(o driver.NodeOrder) map[string]error {
	s.Helper()
	set := driver.AbilitiesOf(s.Driver).Nodes
	if set == nil {
		s.Skip("SKIPPED: the driver has no Nodes")
	}
	before := s.observe()
	left, err := set.SetNodes(s.ctx, o)
	for _, one := range left {
		if errors.Is(one, federation.ErrDenied) {
			err = one
		}
	}
	if errors.Is(err, federation.ErrInvalid) || errors.Is(err, federation.ErrDenied) {
		for i, n := range s.observe().Nodes {
			if n.Reason != before.Nodes[i].Reason || drained(n) != drained(before.Nodes[i]) {
				s.Errorf("refused, and node %s is %v with reason %q", n.Name, n.State, n.Reason)
			}
		}
		s.Skipf("SKIPPED: the site does not let this token do it: %v", err)
	}
	if err != nil {
		s.Fatalf("SetNodes: %v", err)
	}
	return left
}

// accept submits a job that runs script, whatever the site remarks: that its nodes are drained, or do not respond for a moment after that.
func (s *suite) accept(script string) federation.JobID {
	s.Helper()
	return s.acceptAs(s.job(script, nil))
}

// acceptAs hands a job over, whatever the site remarks.
func (s *suite) acceptAs(sub federation.Submission) federation.JobID {
	s.Helper()
	r, err := s.Driver.Submit(s.ctx, sub)
	if err != nil {
		s.Fatalf("Submit: %v", err)
	}
	ref := s.refs[sub.Job.ID]
	ref.SiteJobID = r.SiteJobID
	s.refs[sub.Job.ID] = ref
	return sub.Job.ID
}

// nodesBack has what these tests have drained resumed at their end.
func (s *suite) nodesBack(names []string, marks ...string) {
	s.Cleanup(func() {
		for _, mark := range marks {
			left, err := driver.AbilitiesOf(s.Driver).Nodes.SetNodes(s.ctx, driver.NodeOrder{Wish: federation.WishResume, Nodes: names, Mark: mark})
			if err != nil {
				s.Errorf("resume all: %v %v", left, err)
			}
		}
	})
}

func drained(n federation.Node) bool {
	return slices.ContainsFunc(n.State, func(s string) bool { return strings.HasPrefix(s, "DRAIN") })
}

// testNodes: a drained node starts nothing, goes on with what it runs, and shows the reason. After a resume it starts jobs again.
func testNodes(s *suite) {
	names, now := s.nodesOf()
	runs := s.accept("sleep 300")
	s.untilState(runs, federation.Running)
	o := driver.NodeOrder{Wish: federation.WishDrain, Nodes: names, Text: `fed:olga:T-1 the fan's "loud" again`, Mark: "fed"}
	left := s.setNodes(o)
	s.nodesBack(names, "fed")
	if len(left) > 0 {
		s.Fatalf("drain: left %v", left)
	}
	for _, name := range names {
		if n := now(name); !drained(n) || n.Reason != o.Text || n.Usable() {
			s.Errorf("node %s: %v, reason %q", name, n.State, n.Reason)
		}
	}
	waits := s.accept("exit 0")
	if again := s.setNodes(o); len(again) > 0 {
		s.Errorf("the same again: left %v", again)
	}
	o.Text = "fed:otto: other words"
	if left := s.setNodes(o); len(left) > 0 || now(names[0]).Reason != o.Text {
		s.Errorf("another reason of ours: left %v, reason %q", left, now(names[0]).Reason)
	}
	if j := s.lookup(waits); j.State != federation.Pending {
		s.Errorf("a new job is %s where every node is drained", j.State)
	}
	if j := s.lookup(runs); j.State != federation.Running || j.Restarts != 0 {
		s.Errorf("the job that runs there is %s after %d restarts", j.State, j.Restarts)
	}
	if left := s.setNodes(driver.NodeOrder{Wish: federation.WishResume, Nodes: names, Mark: "fed"}); len(left) > 0 {
		s.Fatalf("resume: left %v", left)
	}
	s.untilState(waits, federation.Completed)
	for _, name := range names {
		if n := now(name); drained(n) {
			s.Errorf("after the resume node %s: %v, reason %q", name, n.State, n.Reason)
		}
	}
}

// testNodesOfOthers: a drain of somebody else is neither ended nor given another reason, and does not keep the others from being drained.
func testNodesOfOthers(s *suite) {
	names, now := s.nodesOf()
	theirs := driver.NodeOrder{Wish: federation.WishDrain, Nodes: names[:1], Text: "theirs:admin: cooling", Mark: "theirs"}
	left := s.setNodes(theirs)
	s.nodesBack(names, "theirs", "fed")
	if len(left) > 0 {
		s.Fatalf("their drain: left %v", left)
	}
	for _, wish := range []federation.NodeWish{federation.WishDrain, federation.WishResume} {
		left := s.setNodes(driver.NodeOrder{Wish: wish, Nodes: append(slices.Clone(names), "nosuchnode"), Text: "fed:olga: fan", Mark: "fed"})
		if len(left) != 2 || !errors.Is(left[names[0]], federation.ErrConflict) || !errors.Is(left["nosuchnode"], federation.ErrNotFound) ||
			!strings.Contains(fmt.Sprint(left[names[0]]), "cooling") {
			s.Errorf("%s: left %v", wish, left)
		}
		if n := now(names[0]); !drained(n) || n.Reason != theirs.Text {
			s.Errorf("%s: their node is %v with reason %q", wish, n.State, n.Reason)
		}
		if n := now(names[1]); drained(n) != (wish == federation.WishDrain) {
			s.Errorf("%s: the other node is %v with reason %q", wish, n.State, n.Reason)
		}
	}
}

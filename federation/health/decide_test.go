package health

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

var update = flag.Bool("update", false, "write testdata/table anew")

var wishes = []federation.NodeWish{"", federation.WishDrain, federation.WishResume}

// TestTable: every combination of what is wanted, what is shown and who said so, as the file has it.
func TestTable(t *testing.T) {
	var b strings.Builder
	for _, wish := range wishes {
		name := string(wish)
		if name == "" {
			name = "nothing"
		}
		fmt.Fprintf(&b, "wanted: %s\n%-12s", name, "shown")
		for _, by := range Authors {
			fmt.Fprintf(&b, "%-10s", by)
		}
		b.WriteString("\n")
		for _, is := range Conditions {
			fmt.Fprintf(&b, "%-12s", is)
			for _, by := range Authors {
				a := string(Decide(wish, is, by))
				if a == "" {
					a = "-"
				}
				fmt.Fprintf(&b, "%-10s", a)
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	got := ""
	for _, l := range strings.Split(b.String(), "\n") {
		got += strings.TrimRight(l, " ") + "\n"
	}
	got = strings.TrimRight(got, "\n") + "\n"
	if *update {
		if err := os.WriteFile("testdata/table", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/table")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the table is now\n%s", got)
	}
}

// TestRules: what must hold of every cell, whatever the table says.
func TestRules(t *testing.T) {
	for _, wish := range wishes {
		for _, is := range Conditions {
			for _, by := range Authors {
				a := Decide(wish, is, by)
				ours := by == Ours || by == Earlier
				drained := is == Drained || is == DownDrained
				fail := func(rule string) { t.Errorf("wanted %q, shown %s by %s: %q: %s", wish, is, by, a, rule) }
				if (a == Undrain || a == Revive) && !ours {
					fail("somebody else's word is undone")
				}
				if a == Drain && drained && !ours {
					fail("somebody else's reason is written over")
				}
				if a == Drain && (is == Down || is == DownAnswers) && (by == Admin || by == Provider || by == Slurmctld) {
					fail("somebody else's reason is written over")
				}
				if a == Drain && wish != federation.WishDrain || (a == Undrain || a == Revive) && wish != federation.WishResume {
					fail("nobody wants that")
				}
				if wish == "" && a != Nothing {
					fail("nobody has said anything")
				}
				if is == Unknown && a != Nothing && a != Wait {
					fail("the site is not known")
				}
				if is == Between && a != Nothing && a != Wait {
					fail("a job could be killed")
				}
				if wish == federation.WishDrain && is == Up && a != Drain {
					fail("the drain is not set again")
				}
			}
		}
	}
}

// node is a simulated site's node.
type node struct{ federation.Node }

func (n *node) flag(s string, on bool) {
	var out []string
	for _, have := range n.State {
		if have != s {
			out = append(out, have)
		}
	}
	if on {
		out = append(out, s)
	}
	n.State = out
}

func (n *node) do(a Action, text string) {
	switch a {
	case Drain:
		n.flag("DRAIN", true)
		n.Reason = text
	case Undrain:
		n.flag("DRAIN", false)
		if ConditionOf(&n.Node) == Up {
			n.Reason = ""
		}
	case Revive:
		n.flag("DRAIN", false)
		n.flag("DOWN", false)
		n.Reason = ""
	}
}

// TestSettles: from any state the table comes to rest within three steps, and then the node is drained by somebody if a drain is wanted and
// it could be, and not drained by us if it is not.
func TestSettles(t *testing.T) {
	now := time.Unix(1000, 0)
	r := &federation.NodeRecord{Owner: "olga", Ticket: "T1", Reason: "fan", Since: now}
	text := r.Text("fed")
	for _, wish := range wishes[1:] {
		r.Wish = wish
		for _, state := range []string{"IDLE", "ALLOCATED", "IDLE DRAIN", "DOWN", "DOWN DRAIN", "DOWN NOT_RESPONDING", "IDLE NOT_RESPONDING DRAIN", "IDLE MAINTENANCE"} {
			for _, reason := range []string{"", text, text + " : Not responding", "fed:otto: disk", "Not responding", "Low RealMemory (1 < 2)", "cooling [root@1]"} {
				n := &node{federation.Node{Name: "n1", State: strings.Fields(state), Reason: reason}}
				was := fmt.Sprint(n.State)
				before := n.Reason
				act := Action("begin")
				for i := 0; i < 3 && act != Nothing && act != Leave && act != Wait; i++ {
					act = Decide(wish, ConditionOf(&n.Node), AuthorOf(&n.Node, text, "fed"))
					n.do(act, text)
				}
				is := ConditionOf(&n.Node)
				by := AuthorOf(&n.Node, text, "fed")
				switch {
				case act != Nothing && act != Leave && act != Wait:
					t.Errorf("%s %s %q: never at rest", wish, was, before)
				case wish == federation.WishDrain && is == Up:
					t.Errorf("%s %s %q: not drained in the end", wish, was, before)
				case wish == federation.WishResume && (is == Drained || is == DownDrained) && (by == Ours || by == Earlier):
					t.Errorf("%s %s %q: still drained by us", wish, was, before)
				case act == Leave && n.Reason != before:
					t.Errorf("%s %s %q: the reason is %q now", wish, was, before, n.Reason)
				}
			}
		}
	}
}

func TestUntil(t *testing.T) {
	now := time.Unix(1000, 0)
	r := &federation.NodeRecord{Wish: federation.WishDrain, Until: now}
	if r.Wants(now.Add(-1)) != federation.WishDrain || r.Wants(now) != federation.WishResume {
		t.Error("a drain does not end at its time")
	}
	if (*federation.NodeRecord)(nil).Wants(now) != "" {
		t.Error("nobody has said anything")
	}
}

// TestMerge: nodes that are to be drained are shown so at once, and nobody else's copy of the look is touched.
func TestMerge(t *testing.T) {
	now := time.Unix(1000, 0)
	o := &federation.Observation{Nodes: []federation.Node{{Name: "a", State: []string{"IDLE"}}, {Name: "b", State: []string{"IDLE", "DRAIN"}, Reason: "cooling"}, {Name: "c", State: []string{"IDLE"}}}}
	wanted := map[string]*federation.NodeRecord{"a": {Wish: federation.WishDrain, Owner: "olga", Reason: "fan"}, "b": {Wish: federation.WishDrain}, "c": {Wish: federation.WishResume}}
	m := Merge(o, wanted, "fed", now)
	if m == o || !o.Nodes[0].Usable() || m.Nodes[0].Usable() || !m.Nodes[0].Unconfirmed || m.Nodes[0].Reason != "fed:olga: fan" || m.Nodes[1].Unconfirmed ||
		m.Nodes[1].Reason != "cooling" || !m.Nodes[2].Usable() {
		t.Errorf("%+v", m.Nodes)
	}
	if Merge(m, wanted, "fed", now) != m || Merge(o, nil, "fed", now) != o {
		t.Error("a copy was made for nothing")
	}
}

func TestWord(t *testing.T) {
	for state, want := range map[string]string{
		"IDLE": "UP", "ALLOCATED": "UP", "IDLE DRAIN": "DRAIN", "MIXED DRAIN": "DRAIN", "DOWN": "DOWN", "DOWN DRAIN NOT_RESPONDING": "DOWN+DRAIN", "IDLE NOT_RESPONDING": "NOT_RESPONDING",
		"IDLE MAINTENANCE": "MAINT", "IDLE POWERED_DOWN": "UP",
	} {
		if got := Word(&federation.Node{State: strings.Fields(state)}); got != want {
			t.Errorf("%s: %s, want %s", state, got, want)
		}
	}
	for state, want := range map[string]string{"DOWN CLOUD POWERED_DOWN": "UP", "IDLE CLOUD POWERED_DOWN": "UP", "IDLE CLOUD POWERED_DOWN DRAIN": "DRAIN", "IDLE CLOUD DRAIN": "DRAIN"} {
		if got := Word(&federation.Node{State: strings.Fields(state), Rented: &federation.Rented{}}); got != want {
			t.Errorf("rented %s: %s, want %s", state, got, want)
		}
	}
}

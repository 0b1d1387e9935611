package steps

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"fsub/cloud/steps/wire"
)

// TestMeetings: whatever the order in which nodes come to several meetings, each is over with its last node and has what all brought, in their order.
func TestMeetings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const nodes = 4
		who := map[string][]int{"": nil, "a": {2, 0}, "b": {1}}
		want := map[string][]byte{"": {0, 1, 2, 3}, "a": {2, 0}, "b": {1}}
		type turn struct {
			id   string
			node int
		}
		var turns []turn
		for id, brought := range want {
			for _, n := range brought {
				turns = append(turns, turn{id, int(n)})
			}
		}
		var m meetings
		said := map[string]int{}
		for _, c := range rapid.Permutation(turns).Draw(t, "turns") {
			over, err := m.meet(c.node, nodes, wire.Meeting{ID: c.id, Nodes: who[c.id], Data: []byte{byte(c.node)}})
			said[c.id]++
			switch {
			case err != nil:
				t.Fatal(err)
			case (over != nil) != (said[c.id] == len(want[c.id])):
				t.Fatalf("%q is over after %d", c.id, said[c.id])
			case over != nil && !bytes.Equal(over.Data, want[c.id]):
				t.Fatalf("%q has %v", c.id, over.Data)
			}
		}
		if len(m.open) != 0 || m.held != 0 {
			t.Fatalf("%d are open, %d bytes are held", len(m.open), m.held)
		}
	})
}

// TestMeetingsRefused: a step daemon is its user's process, and may send anything.
func TestMeetingsRefused(t *testing.T) {
	for name, said := range map[string][]wire.Meeting{
		"twice":         {{ID: "a"}, {ID: "a"}},
		"not of it":     {{Nodes: []int{1, 2}}},
		"too much":      {{ID: "a", Data: make([]byte, maxHeld/2)}, {ID: "b", Data: make([]byte, maxHeld/2)}},
		"a large crowd": {{ID: "a", Nodes: make([]int, maxHeld/4)}},
	} {
		var m meetings
		var err error
		for _, s := range said {
			_, err = m.meet(0, 2, s)
		}
		if err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
	var full meetings
	for i := range 2 * maxMeetings { // it may go on until it is killed
		full.meet(0, 2, wire.Meeting{ID: digits(i), Data: make([]byte, maxHeld/4)})
	}
	if len(full.open) > 4 || full.held > maxHeld {
		t.Errorf("what is refused is kept: %d are open, %d bytes are held", len(full.open), full.held)
	}
	var m meetings
	for i := range maxMeetings + 1 {
		if _, err := m.meet(0, 2, wire.Meeting{ID: digits(i)}); (err != nil) != (i == maxMeetings) {
			t.Errorf("meeting %d: %v", i, err)
		}
	}
}

// TestDirect: what a node says to another comes to that one; who has asked a node that ends is told so, once, and who asks later at once.
func TestDirect(t *testing.T) { synctest.Test(t, testDirect) }

func testDirect(t *testing.T) {
	lines := make([]bytes.Buffer, 3)
	st := &step{ready: make(chan struct{})}
	for i := range lines {
		st.nodes = append(st.nodes, wire.NewWriter(&lines[i]))
	}
	close(st.ready)
	say := func(from, to int, text string) {
		st.forTasks(from, frame(t, wire.Meeting{Direct: true, Nodes: []int{to}, Data: []byte(text)}))
	}
	say(0, 2, "a")
	say(0, 2, "b")
	say(2, 0, "answer")
	say(1, 9, "nobody")
	say(1, -1, "nobody")
	st.gone(2)
	say(1, 2, "late")
	st.gone(1)
	synctest.Wait()
	for i, want := range [][]string{{"2 answer", "2 "}, {"9 ", "2 "}, {"0 a", "0 b"}} {
		var got []string
		for in := wire.NewReader(&lines[i]); ; {
			f, err := in.Read()
			if err != nil {
				break
			}
			m, err := wire.JSON[wire.Meeting](f)
			if err != nil || f.Kind != wire.Met || !m.Direct || len(m.Nodes) != 1 {
				t.Fatalf("node %d: %v %v", i, f, err)
			}
			got = append(got, digits(m.Nodes[0])+" "+string(m.Data))
		}
		if !slices.Equal(got, want) {
			t.Errorf("node %d hears %q, want %q", i, got, want)
		}
	}
}

// frame is one that a node sends of a meeting.
func frame(t *testing.T, m wire.Meeting) wire.Frame {
	t.Helper()
	var b bytes.Buffer
	if err := wire.NewWriter(&b).WriteJSON(wire.Meet, 0, m); err != nil {
		t.Fatal(err)
	}
	f, err := wire.NewReader(&b).Read()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

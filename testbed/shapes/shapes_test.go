package shapes

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// Every script leaves the same behind wherever it runs. The real site comes twice: what its two runs differ in is nobody's fault.
func TestSameEverywhere(t *testing.T) {
	world.Need(t)
	shapes := shapesOf(t)
	if only := os.Getenv("FSUB_SHAPES"); only != "" {
		shapes = slices.DeleteFunc(shapes, func(s shape) bool { return !slices.Contains(strings.Split(only, ","), s.name) })
	}
	var long, short []shape
	for _, s := range shapes {
		if slow[s.name] {
			long = append(long, s)
		} else {
			short = append(short, s)
		}
	}
	submitAll(t, long)
	for some := range slices.Chunk(short, 6) { // a few at a time: where nodes are full the layout is another one
		submitAll(t, some)
		compareAll(t, some)
	}
	compareAll(t, long)
}

// slow are those that wait for a minute or more. They need little, and run beside the others.
var slow = map[string]bool{"requeue": true, "signal": true}

// cannot are scripts that a place has nothing for, as "SHAPE SITE", with the reason.
var cannot = map[string]string{
	"gpu tpu":       "a TPU host has no GPUs",
	"deepspeed tpu": "a TPU host has no GPUs",
}

func submitAll(t *testing.T, shapes []shape) {
	for _, p := range world.places {
		for _, s := range shapes {
			if cannot[s.name+" "+p.name] == "" {
				p.submit(t, s)
			}
		}
	}
}

func compareAll(t *testing.T, shapes []shape) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) { compareShape(t, s) })
	}
}

func compareShape(t *testing.T, s shape) {
	for _, p := range world.places {
		if cannot[s.name+" "+p.name] == "" {
			p.await(t, s)
		}
	}
	want := world.places[0].left(t, s)
	for _, p := range world.places[1:] {
		t.Run(p.String(), func(t *testing.T) {
			if why := cannot[s.name+" "+p.name]; why != "" {
				t.Skip("SKIPPED: " + why)
			}
			compareFiles(t, s, p, want, p.left(t, s))
		})
	}
}

func compareFiles(t *testing.T, s shape, p place, want, got map[string]string) {
	all := maps.Clone(want)
	maps.Copy(all, got)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w, inWant := want[name]
		g, inGot := got[name]
		switch {
		case exceptions[s.name+" "+p.name+" "+name] != "":
		case !inGot:
			t.Errorf("%s is missing; at the real site it has:\n%s", name, head(w))
		case !inWant:
			t.Errorf("%s is there, and is not at the real site:\n%s", name, head(g))
		case w != g:
			t.Errorf("%s is another one (- real, + here):\n%s", name, difference(w, g))
		}
	}
}

// exceptions are files that may differ at a site, as "SHAPE SITE FILE", with the reason.
var exceptions = map[string]string{}

// head is the first lines of a text.
func head(s string) string {
	const lines = 12
	if all := strings.SplitAfterN(s, "\n", lines+1); len(all) > lines {
		return strings.Join(all[:lines], "") + "..."
	}
	return s
}

// difference shows the lines of a that b has not, and the other way round.
func difference(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out []string
	count := map[string]int{}
	for _, l := range right {
		count[l]++
	}
	for _, l := range left {
		if count[l]--; count[l] < 0 {
			out = append(out, "- "+l)
		}
	}
	count = map[string]int{}
	for _, l := range left {
		count[l]++
	}
	for _, l := range right {
		if count[l]--; count[l] < 0 {
			out = append(out, "+ "+l)
		}
	}
	if out == nil {
		return "the same lines in another order:\n" + b
	}
	return strings.Join(out, "\n")
}

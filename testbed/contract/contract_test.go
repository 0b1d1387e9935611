package contract

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// What a script sees does not depend on who submitted it: the recorded shapes, and everything else that a call can vary.
func TestSameContract(t *testing.T) {
	world.Need(t)
	// Some together: the nodes work while the test waits, but have room. Where they are full a job is spread over more of them.
	for _, some := range append(slices.Collect(slices.Chunk(shapes, 5)), slices.Collect(slices.Chunk(calls, 12))...) {
		pairs := map[string][2]*job{}
		for _, c := range some {
			for _, site := range sites {
				if c.not[site] == "" {
					pairs[c.name+site] = [2]*job{submit(t, &c, site, "sbatch"), submit(t, &c, site, "fsub")}
				}
			}
		}
		for _, c := range some {
			for _, site := range sites {
				t.Run(site+"/"+c.name, func(t *testing.T) { comparePair(t, &c, site, pairs[c.name+site]) })
			}
		}
	}
}

// comparePair compares what the two jobs of a call saw.
func comparePair(t *testing.T, c *call, site string, pair [2]*job) {
	if why := c.not[site]; why != "" {
		t.Skip("SKIPPED:", why)
	}
	if pair[0].said.code != 0 && pair[1].said.code == 0 {
		t.Fatalf("sbatch refuses it: %s", pair[0].said.stderr)
	}
	want, got := awaitView(t, pair[0]), awaitView(t, pair[1])
	if _, reason, refused := strings.Cut(got["stderr"], site+": its interface cannot carry "); refused && want["exit status"] == "0" {
		t.Skip("SKIPPED: not viable: " + reason)
	}
	compare(t, site, want, got)
}

// compare reports every field that the two have otherwise.
func compare(t *testing.T, site string, want, got view) {
	t.Helper()
	fields := maps.Clone(want)
	maps.Copy(fields, got)
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		w, inWant := want[field]
		g, inGot := got[field]
		name := field[strings.LastIndex(field, "$")+1:]
		if ours[name] != "" && !inWant || site == "delta" && onDelta[name] != "" && w != g && (w == "" || g == "") {
			continue
		}
		if e, known := exceptions[name]; known {
			w, g = e.form(w), e.form(g)
		}
		switch {
		case !inGot:
			t.Errorf("%s: sbatch's job has %q, ours does not", field, w)
		case !inWant:
			t.Errorf("%s: ours has %q, sbatch's job does not", field, g)
		case w != g:
			t.Errorf("%s: sbatch's job has %q, ours %q", field, w, g)
		}
	}
}

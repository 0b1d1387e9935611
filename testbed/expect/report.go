package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// table is what all sides said of all tests.
type table struct {
	sides   []string
	tests   []test
	results [][]result        // by side, then by test
	reasons map[string]string // by test: why it cannot pass with our commands
}

// report prints the table and how many tests passed. It returns an error if a test passes on the first side and, without a
// reason, not on the last one, or if a test has a reason and passes.
func report(w io.Writer, t table) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	passed := make([]int, len(t.sides))
	var bad []string
	for i := range t.tests {
		name := t.tests[i].name
		fmt.Fprint(tw, name)
		for j := range t.sides {
			r := t.results[j][i]
			fmt.Fprintf(tw, "\t%s\t%s", r.verdict, r.took)
			if r.verdict == "SUCCESS" {
				passed[j]++
			}
		}
		first, last := t.results[0][i], t.results[len(t.sides)-1][i]
		reason, excused := t.reasons[name]
		if first.verdict == "SUCCESS" && (last.verdict == "SUCCESS") == excused {
			bad = append(bad, name)
		}
		if last.verdict == "SUCCESS" {
			last.why = ""
		}
		if reason != "" {
			reason = "known: " + reason
		}
		fmt.Fprintf(tw, "\t%s\n", strings.TrimPrefix(strings.TrimSuffix(last.why+"; "+reason, "; "), "; "))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for j, side := range t.sides {
		fmt.Fprintf(w, "%s: %d of %d passed\n", side, passed[j], len(t.tests))
	}
	if len(bad) > 0 {
		return fmt.Errorf("not as exceptions.txt says: %s", strings.Join(bad, " "))
	}
	return nil
}

// parseExceptions reads lines of a test's name and a reason.
func parseExceptions(text string) (map[string]string, error) {
	reasons := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, " ")
		if !ok {
			return nil, fmt.Errorf("exceptions.txt: %s has no reason", name)
		}
		reasons[name] = strings.TrimSpace(reason)
	}
	return reasons, nil
}

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEverySection makes each table of docs/planner.md from a small part of what it is made from. What it finds is not looked at.
func TestEverySection(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out the benchmarks")
	}
	t.Chdir("../..")
	text, err := os.ReadFile("docs/planner.md")
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "planner.md")
	if err := os.WriteFile(page, text, 0o644); err != nil {
		t.Fatal(err)
	}
	rowsOf := map[string][]named{"speed": speedNames, "large": largeNames, "rounds": roundNames, "growth": growthNames, "topology": topologyNames}
	atOnce, small, pictures = 2, true, t.TempDir()
	for _, s := range sections {
		t.Run(s.name, func(t *testing.T) {
			text, err := s.make()
			if errors.Is(err, errSkipped) {
				t.Skip("SKIPPED: ", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := replace(page, s.name, text); err != nil {
				t.Error(err)
			}
			for _, n := range rowsOf[s.name] {
				if !strings.Contains(text, "| "+n.words+" |") {
					t.Errorf("no row %q: has its benchmark another name now?\n%s", n.words, text)
				}
			}
			if empty := strings.Count(text, "| 0.00 ms |") + strings.Count(text, "|  |  |  |"); empty > 0 || strings.Count(text, "\n|") < 3 {
				t.Errorf("rows are missing or empty:\n%s", text)
			}
		})
	}
}

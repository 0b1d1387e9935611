package commands

import (
	"os"
	"slices"
	"strings"
	"testing"

	"fsub/cmd/internal/refusal"
)

// TestLinks: make build and make demo link the names that fsub answers, each of which is a command.
func TestLinks(t *testing.T) {
	text, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nLINKS")
	rest, _, _ = strings.Cut(rest, "\n")
	_, list, _ := strings.Cut(rest, ":=")
	names := slices.Concat(Names, refusal.Names)
	if links := strings.Fields(list); !slices.Equal(links, names) {
		t.Errorf("the Makefile links %v, want %v", links, names)
	}
	for _, name := range names {
		if Named(name) == nil {
			t.Errorf("there is no command %s", name)
		}
	}
}

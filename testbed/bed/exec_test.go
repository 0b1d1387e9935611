package bed

import (
	"slices"
	"testing"
)

func TestLastWins(t *testing.T) {
	got := lastWins([]string{"A=1", "B=2", "A=3", "C=", "B=4"})
	if want := []string{"A=3", "C=", "B=4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

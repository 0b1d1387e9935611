package sbatch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeep: paths below the working directory add up; any other is refused by name.
func TestKeep(t *testing.T) {
	f := Fed{}
	for _, v := range []string{"checkpoints/,state/model.pt", "./log, checkpoints"} {
		if why := addKeep(&f, v); why != "" {
			t.Fatalf("%q: %s", v, why)
		}
	}
	if diff := cmp.Diff([]string{"checkpoints", "state/model.pt", "log"}, []string(f.Keep)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for v, want := range map[string]string{
		"":             "one is empty",
		"a,,b":         "one is empty",
		"/scratch/ck":  `without a slash in front, got "/scratch/ck"`,
		"..":           `without .., got ".."`,
		"a/../../b":    `without .., got "../b"`,
		"ck/*.pt":      `not a pattern: name the directory, got "ck/*.pt"`,
		"a\nb":         "without line breaks",
		numbered(1000): "at most 32 paths",
	} {
		if why := addKeep(&Fed{}, v); !strings.Contains(why, want) {
			t.Errorf("%.40q: %q, want %q", v, why, want)
		}
	}
}

func numbered(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = strings.Repeat("x", i+1)
	}
	return strings.Join(names, ",")
}

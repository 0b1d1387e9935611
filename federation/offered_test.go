package federation

import (
	"testing"

	"fsub/sbatch"
)

func TestReaches(t *testing.T) {
	staged := &sbatch.Fed{StageOut: []sbatch.Stage{{From: "out"}}}
	for _, c := range []struct {
		systems []string
		dir     string
		fed     *sbatch.Fed
		want    bool
	}{
		{nil, "/home/a", nil, true},
		{[]string{}, "/home/a", nil, false},
		{[]string{}, "/home/a", &sbatch.Fed{MaxCost: 1}, false},
		{[]string{}, "/home/a", staged, true},
		{[]string{"/home", "/scratch"}, "/scratch/x/y", nil, true},
		{[]string{"/home"}, "/home", nil, true},
		{[]string{"/home"}, "/home2/a", nil, false},
		{[]string{"/home"}, "/home/../etc", nil, false},
		{[]string{"/"}, "/etc", nil, true},
	} {
		s := Site{FileSystems: c.systems}
		if got := s.Reaches(&sbatch.Spec{WorkDir: c.dir, Fed: c.fed}); got != c.want {
			t.Errorf("%q with %q: %v", c.dir, c.systems, got)
		}
	}
}

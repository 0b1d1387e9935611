package sbatch

import (
	"slices"
	"testing"
)

func indexOf(name string) int {
	return slices.IndexFunc(options[:], func(o option) bool { return o.name == name })
}

// TestGivenOptions: the last source of an option counts, and one that is dropped no longer refuses the job.
func TestGivenOptions(t *testing.T) {
	var g given
	id := indexOf("container-type")
	g.mark(id, fromScript)
	g.refuse(&options[id])
	g.refuse(&options[id])
	g.mark(id, fromEnv)
	if g.from("container-type") != fromEnv || g.uncarried() == nil || len(g.refused) != 1 {
		t.Errorf("container-type is from %d, %d refused", g.from("container-type"), len(g.refused))
	}
	g.ignore("container-type")
	if g.has("container-type") || g.uncarried() == nil {
		t.Error("an ignored option counts as given, or no longer refuses the job")
	}
	g.mark(id, fromArgs)
	g.drop(id)
	if g.has("container-type") || g.uncarried() != nil {
		t.Error("a dropped option counts")
	}
}

// TestNotices: -Q suppresses what only informs, -v adds, and the lines stand before those of a refusal.
func TestNotices(t *testing.T) {
	for _, c := range []struct {
		notices notices
		want    []string
	}{
		{notices{}, []string{"warned", "informed", "refused"}},
		{notices{quiet: true}, []string{"warned", "refused"}},
		{notices{verbose: 1}, []string{"warned", "informed", "sbatch: detail", "refused"}},
	} {
		n := c.notices
		n.warn("warned")
		n.inform("informed")
		n.informVerbose("detail")
		if e := n.before(exit(1, "refused")).(*Exit); !slices.Equal(e.Stderr, c.want) {
			t.Errorf("%+v: %q, want %q", c.notices, e.Stderr, c.want)
		}
		if e := n.before(&Exit{Stdout: "help"}).(*Exit); len(e.Stderr) > 0 {
			t.Errorf("help has the notices %q", e.Stderr)
		}
	}
}

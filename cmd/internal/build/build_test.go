package build

import "testing"

func TestString(t *testing.T) {
	for want, b := range map[string]Info{
		"v0.4.0": {Version: "v0.4.0"},
		"v0.4.0 (commit 1963265c04d2, 2026-11-28, go1.26.8)": {Version: "v0.4.0", Commit: "1963265c04d2aa", Date: "2026-11-28T18:34:00Z", Go: "go1.26.8"},
		"(devel) (commit 1963 with changes, go1.26.8)":       {Version: "(devel)", Commit: "1963", Modified: true, Go: "go1.26.8"},
	} {
		if got := b.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if b := Read(); b.Go == "" || b.Version == "" {
		t.Errorf("this build: %+v", b)
	}
}

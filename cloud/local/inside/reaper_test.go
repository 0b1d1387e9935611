package inside

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestPopulated: a machine lives unless it is known that it does not.
func TestPopulated(t *testing.T) {
	me, err := thisProcess()
	if err != nil {
		t.Fatal(err)
	}
	gone := me
	gone.Start++
	write := func(text string) func(file string) error {
		return func(file string) error { return os.WriteFile(file, []byte(text), 0o600) }
	}
	for name, c := range map[string]struct {
		process func(file string) error
		want    bool
	}{
		"not begun":            {func(string) error { return nil }, false},
		"nobody":               {write(Nobody), false},
		"gone":                 {write(gone.String()), false},
		"alive":                {write(me.String()), true},
		"cannot be read":       {func(file string) error { return os.Mkdir(file, 0o700) }, true},
		"cannot be understood": {write("?"), true},
	} {
		dir := filepath.Join(t.TempDir(), "a[b]*?") // no pattern
		if Populated(dir) {
			t.Errorf("%s: a directory that is not there is populated", name)
		}
		machine := filepath.Join(dir, MachinesDir, "G1.0")
		if err := errors.Join(os.MkdirAll(machine, 0o700), c.process(filepath.Join(machine, ProcessFile))); err != nil {
			t.Fatal(err)
		}
		if got := Populated(dir); got != c.want {
			t.Errorf("%s: populated is %v", name, got)
		}
	}
}

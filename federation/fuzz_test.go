package federation_test

import (
	"errors"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/federation/depend"
)

// FuzzDependency reads --dependency: an error is ErrInvalid and names the text, and there are no more conditions than the text has room for.
func FuzzDependency(f *testing.F) {
	for _, text := range []string{"afterok:100:101,after:102+5", "singleton", "afterany:5_3?afterok:6_*", "17", "after:1+99999999999", "afterok:4294967296", ":", "a?b,c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := depend.Parse(text)
		if err != nil {
			if !errors.Is(err, federation.ErrInvalid) || !strings.Contains(err.Error(), "dependency ") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if n := strings.Count(text, ":") + strings.Count(text, ",") + strings.Count(text, "?") + 1; len(d.Terms) == 0 || len(d.Terms) > n {
			t.Errorf("%q has %d conditions", text, len(d.Terms))
		}
		for _, c := range d.Terms {
			if c.Job == 0 != (c.Kind == depend.Singleton) || c.Task < -1 || c.Delay < 0 || c.Delay > 0 && c.Kind != depend.After {
				t.Errorf("%q: %+v", text, c)
			}
		}
	})
}

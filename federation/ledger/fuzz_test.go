package ledger

import (
	"strings"
	"testing"
)

// FuzzReport reads what sreport prints: only lines of users count, under the resources that are compared, and an error names the program.
func FuzzReport(f *testing.F) {
	f.Add([]byte("physics||cpu|10\nphysics|alice|cpu|7\nphysics|alice|gres/gpu:h100|3\nphysics|alice|energy|5\n"))
	f.Add([]byte("a|b|cpu\n"))
	f.Add([]byte("a|b|cpu|x\n"))
	f.Add([]byte("a|\"b|cpu|9223372036854775807\na|b|cpu|1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := &reader{names: map[string]string{"bob": "robert"}}
		figures, err := r.parseReport(text)
		if err != nil {
			if !strings.Contains(err.Error(), "sreport") {
				t.Errorf("%v", err)
			}
			return
		}
		for k := range figures {
			if k.user == "" || k.user == "bob" || k.tres == "energy" {
				t.Errorf("%+v", k)
			}
		}
	})
}

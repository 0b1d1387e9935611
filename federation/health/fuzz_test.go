package health

import (
	"reflect"
	"strings"
	"testing"
)

// FuzzReadChecks reads the extra field of a node: findings have codes of checks, and are written as they were read.
func FuzzReadChecks(f *testing.F) {
	f.Add(WriteChecks([]Check{{Code: "check-gpu-lost", Text: "GPU 3"}}))
	f.Add(WriteChecks(nil))
	f.Add(CheckMark + `[{"code":"xid-79"}]`)
	f.Add("rack 7")
	f.Fuzz(func(t *testing.T, extra string) {
		found, err := ReadChecks(extra)
		if err != nil {
			return
		}
		for _, c := range found {
			if !strings.HasPrefix(string(c.Code), "check-") {
				t.Errorf("%q: code %q", extra, c.Code)
			}
		}
		again, err := ReadChecks(WriteChecks(found))
		if err != nil || len(found) > 0 && !reflect.DeepEqual(again, found) {
			t.Errorf("%q: %+v became %+v, %v", extra, found, again, err)
		}
	})
}

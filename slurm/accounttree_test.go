package slurm

import (
	"slices"
	"testing"

	"fsub/federation/accounts"
)

// A grace time is read to the second; that of none is none, and nothing that cannot be read.
func TestImportedGraceTime(t *testing.T) {
	for value, want := range map[string]string{"00:00:00": "", "00:01:30": "90", "1-00:00:00": "86400", "": "", "45": "45"} {
		asked := columnsOf(accounts.QOS)
		columns := make([]string, len(asked))
		columns[slices.Index(asked, "gracetime")] = value
		var at accounts.Import
		set := settings(&at, accounts.QOSKey("low"), columns)
		if set["GraceTime"] != want || len(set) > 1 || len(at.Skipped) > 0 {
			t.Errorf("%q: %v, want %q; left out: %v", value, set, want, at.Skipped)
		}
	}
}

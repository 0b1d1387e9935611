package drivertest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// elsewhere are options that no line of shapes and options has, with where they are tested.
var elsewhere = map[string]string{
	"autocomplete": "prints and ends: sbatch",
	"cluster":      "federation/api: the daemon's to resolve",
	"clusters":     "the same",
	"dependency":   "testbed/contract, testbed/spine: the federation's, no site hears of it",
	"export-file":  "testbed/contract",
	"help":         "prints and ends: cmd/fsub",
	"hold":         "in every line",
	"parsable":     "in every line",
	"quiet":        "says no number to find the job by: cmd/fsub",
	"reboot":       "federation/api: refused to users, as slurmctld does; a site would obey SlurmUser's token",
	"test-only":    "no job comes of it: cmd/fsub, testbed/golden",
	"usage":        "prints and ends: cmd/fsub",
	"version":      "prints and ends: cmd/fsub",
	"wait":         "what the command does after: cmd/fsub",
	"wrap":         "in every line",
}

// TestEveryOptionCompared: each row of the table of sbatch's options is in a line whose jobs are compared with sbatch's own, or tested elsewhere.
func TestEveryOptionCompared(t *testing.T) {
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		t.Skip("SKIPPED: FSUB_ORACLE does not name the folder of sbatch_options.tsv")
	}
	table, err := os.ReadFile(filepath.Join(dir, "sbatch_options.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	word := regexp.MustCompile(`(?:^| )(--[a-z-]+|-[A-Za-z])`)
	for _, line := range slices.Concat(shapes, options) {
		for _, m := range word.FindAllStringSubmatch(line, -1) {
			given[m[1]] = true
		}
	}
	rows := strings.Split(strings.TrimSpace(string(table)), "\n")[1:]
	compared := 0
	for _, row := range rows {
		name, rest, _ := strings.Cut(row, "\t")
		short, _, _ := strings.Cut(rest, "\t")
		switch {
		case strings.HasPrefix(name, "("): // no option: arguments and what goes with the caller
		case given["--"+name] || short != "" && given["-"+short]:
			compared++
		case elsewhere[name] == "":
			t.Errorf("--%s is in no line of shapes and options", name)
		}
	}
	t.Logf("%d of %d rows are compared, %d are tested elsewhere", compared, len(rows), len(elsewhere))
}

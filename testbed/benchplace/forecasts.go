package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

var (
	runLine  = regexp.MustCompile(`(\S+)\.csv\.gz: p50 off by (\S+), p90 holds for (\S+), its loss (\S+), (\d+) jobs`)
	waitLine = regexp.MustCompile(`(\S+)\.csv\.gz: p90 holds for (\S+) \(for (\S+) of waits over 10 min; for (\S+) where it is sure, unsure (\S+)\), its loss (\S+); p50 off by (\S+);`)
)

// Goals are by trace: of run times the coverage and loss, of waits the same.
var (
	runGoals  = map[string]string{"mit_supercloud_2021_slurm_subset": ".85 to .95, .68", "metacentrum_2013_wagap": ".85 to .95, .56"}
	waitGoals = map[string]string{"mit_supercloud_2021_slurm_subset": "at least .90, .89", "metacentrum_2013_wagap": "more than .83, .54"}
)

// forecasts has the tests of package predict replay the traces, and makes tables of what they say.
func forecasts() (string, error) {
	if _, err := tracesFile(""); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-timeout", "2h", "-v", "-run", "^Test(Wait)?Traces$", "./federation/predict")
	cmd.Env = os.Environ()
	if !small {
		cmd.Env = append(cmd.Env, "FSUB_FULL=1")
	}
	out, failed := cmd.CombinedOutput()
	var b strings.Builder
	b.WriteString("| run times | jobs | typical p50 is off by | p90 covers | its loss | goal: covers, loss at most |\n|---|---|---|---|---|---|\n")
	runs := runLine.FindAllStringSubmatch(string(out), -1)
	for _, m := range runs {
		fmt.Fprintf(&b, "| %s | %s | %s x | %s | %s | %s |\n", m[1], m[5], m[2], m[3], m[4], runGoals[m[1]])
	}
	b.WriteString("\n| waits | p90 covers | of waits over 10 min | where it is sure | unsure of | its loss | p50 of those over 10 min is off by | goal: covers, loss at most |\n|---|---|---|---|---|---|---|---|\n")
	waits := waitLine.FindAllStringSubmatch(string(out), -1)
	for _, m := range waits {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s x | %s |\n", m[1], m[2], m[3], m[4], m[5], m[6], m[7], waitGoals[m[1]])
	}
	if len(runs) == 0 || len(waits) == 0 {
		return "", fmt.Errorf("the tests of forecasts say nothing: %w\n%s", failed, out)
	}
	return b.String(), nil
}

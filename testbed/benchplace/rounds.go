package main

import (
	"fmt"
	"strings"
)

// roundNames are the benchmarks of the controller's rounds, in words.
var roundNames = []named{
	{"nothing", "nothing", "10 ms"},
	{"added", "a job comes", "10 ms"},
	{"cancelled", "one is cancelled", "10 ms"},
	{"ended", "one ends at a site", "10 ms"},
	{"looked", "a site is looked at", "10 ms"},
	{"ranked", "users are ranked anew", ""},
	{"whole", "time has passed: a new plan", "10 ms"},
}

// rounds measures two rounds of the whole controller after something has happened, with 100,000 and a million jobs that wait.
func rounds() (string, error) {
	var of [2]map[string]map[string]float64
	for i, name := range []string{"FairRound100K", "FairRound1M"} {
		out, err := bench("./federation/controller", name, "200x")
		if err != nil {
			return "", err
		}
		of[i] = map[string]map[string]float64{}
		for _, m := range benchLine.FindAllStringSubmatch(out, -1) {
			of[i][strings.TrimPrefix(m[1], name+"/")] = metrics(m[2])
		}
	}
	var b strings.Builder
	b.WriteString("| before two rounds | CPU time, 100,000 jobs wait | 99th percentile | CPU time, 1,000,000 | 99th percentile | goal |\n|---|---|---|---|---|---|\n")
	for _, n := range roundNames {
		fmt.Fprintf(&b, "| %s |", n.words)
		for _, values := range of {
			v := values[n.bench]
			fmt.Fprintf(&b, " %s | %s |", milliseconds(v["cpu-ms/op"]), milliseconds(v["cpu-ms-p99"]))
		}
		fmt.Fprintf(&b, " %s |\n", n.goal)
	}
	fmt.Fprintf(&b, "\nMemory: %.0f bytes for each of 100,000 jobs that wait, %.0f for each of 1,000,000; the goal is 500.\n", of[0]["nothing"]["B/job"], of[1]["nothing"]["B/job"])
	return b.String(), nil
}

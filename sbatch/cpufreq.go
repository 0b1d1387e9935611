package sbatch

import (
	"strconv"
	"strings"
)

// frequency is one value of --cpu-freq: kHz, or a word with a rank above every number.
type frequency struct {
	text string
	rank int64
}

// frequencyWords with their rank; they are known by their first letters, whatever follows.
var frequencyWords = [...]struct {
	text    string
	letters int
	rank    int64
}{{"Low", 2, 1}, {"Medium", 3, 2}, {"Highm1", 6, 4}, {"High", 2, 3}}

// begins reports whether s begins with the first n letters of word, in any case.
func begins(s, word string, n int) bool { return len(s) >= n && strings.EqualFold(s[:n], word[:n]) }

// governors are known by their first four letters. Those that slurm.conf does not allow by default
// (CpuFreqGovernors) are refused, as sbatch does at a site that says nothing of them.
var governors = [...]struct {
	text    string
	allowed bool
}{{"Conservative", false}, {"OnDemand", true}, {"Performance", true}, {"PowerSave", false}, {"UserSpace", true}, {"SchedUtil", false}}

// setCPUFreq takes P1[-P2][:GOVERNOR], or a governor alone.
func setCPUFreq(p *parser, _ *option, v string) error {
	value, why := cpuFreq(v, p.release < Slurm2411)
	if value != "" {
		return text(&p.more().CPUFreq, value)
	}
	lines := []string{"sbatch: error: Invalid --cpu-freq argument"}
	if why != "" {
		lines = []string{"sbatch: error: " + why, lines[0]}
	}
	return exit(exitBadOption, lines...)
}

// cpuFreq is sbatch's form of v, or "" and why there is none, if sbatch gives a reason. An old
// sbatch (22.05) takes a range without governor.
func cpuFreq(v string, old bool) (value, why string) {
	least, most, ranged := strings.Cut(v, "-")
	var gov string
	var governed bool
	if ranged {
		most, gov, governed = strings.Cut(most, ":")
	} else {
		least, gov, governed = strings.Cut(least, ":")
	}
	if name, allowed := governor(least); name != "" && !ranged {
		switch {
		case governed:
			return "", "governor cannot be specified twice " + least + "{-}:" + gov + " in --cpu-freq"
		case !allowed:
			return "", notAllowed(v)
		}
		return name, ""
	}
	low, known := readFrequency(least, old)
	if !known {
		if least == "" || least == "0" {
			return "", map[bool]string{true: unrecognized(least)}[old]
		}
		return "", unrecognized(least)
	}
	name, allowed := governor(gov)
	switch {
	case governed && name == "":
		return "", "illegal governor: " + gov + " on --cpu-freq"
	case governed && !allowed:
		return "", notAllowed(v)
	case ranged:
		return frequencyRange(low, least, most, name, old)
	case governed && (name != "UserSpace" || old):
		return "", "gov on cpu-frec (" + gov + ") illegal without max"
	}
	return low.text, ""
}

// frequencyRange is LOW-HIGH with the governor called name, "" for none.
func frequencyRange(low frequency, least, most, name string, old bool) (value, why string) {
	if name == "" && !old {
		return "", "You must explicitly choose a governor when defining a range. Please specify only one value for the desired " +
			"frequency (p1) or choose a specific governor (p3)."
	}
	high, known := readFrequency(most, old)
	switch {
	case !known:
		return "", unrecognized(most)
	case high.rank < low.rank:
		return "", "min cpu-frec (" + least + ") must be < max cpu-freq (" + most + ")"
	case name == "UserSpace" && !old:
		return "", "userspace governor does not support a range. Please specify only one value for the desired frequency (p1) " +
			"or choose a different governor."
	case name != "":
		name = ":" + name
	}
	return low.text + "-" + high.text + name, ""
}

func unrecognized(v string) string { return `unrecognized --cpu-freq argument "` + v + `"` }
func notAllowed(v string) string   { return "governor of " + v + " is not allowed in slurm.conf" }

func readFrequency(s string, old bool) (f frequency, ok bool) {
	if n, rest, ok := number(s); ok && isDigit(s, 0) {
		return frequency{strconv.FormatInt(n, 10), n}, n > 0 && (rest == "" || old)
	}
	for _, w := range frequencyWords {
		if begins(s, w.text, w.letters) {
			return frequency{w.text, 1<<32 + w.rank}, true
		}
	}
	return f, false
}

func governor(s string) (name string, allowed bool) {
	for _, g := range governors {
		if begins(s, g.text, 4) {
			return g.text, g.allowed
		}
	}
	return "", false
}

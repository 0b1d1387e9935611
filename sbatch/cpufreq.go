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

// governors are known by their first four letters. Those that slurm.conf does not allow by default (CpuFreqGovernors) are refused, as sbatch
// does at a site that says nothing of them.
var governors = [...]struct {
	text    string
	allowed bool
}{{"Conservative", false}, {"OnDemand", true}, {"Performance", true}, {"PowerSave", false}, {"UserSpace", true}, {"SchedUtil", false}}

// setCPUFreq takes P1[-P2][:GOVERNOR], or a governor alone.
func setCPUFreq(p *parser, _ *option, v string) error {
	bad := func(parts ...string) error {
		invalid := "sbatch: error: Invalid --cpu-freq argument"
		if parts == nil {
			return p.exit(exitBadOption, invalid)
		}
		return p.exit(exitBadOption, "sbatch: error: "+strings.Join(parts, ""), invalid)
	}
	old := p.release < Slurm2411
	least, most, ranged := strings.Cut(v, "-")
	var gov string
	var governed bool
	if ranged {
		most, gov, governed = strings.Cut(most, ":")
	} else {
		least, gov, governed = strings.Cut(least, ":")
	}
	if name, _ := governor(least); name != "" && governed && !ranged {
		return bad("governor cannot be specified twice ", least, "{-}:", gov, " in --cpu-freq")
	}
	if !ranged && !governed {
		if name, allowed := governor(v); name != "" {
			if !allowed {
				return bad("governor of ", v, " is not allowed in slurm.conf")
			}
			return text(&p.more().CPUFreq, name)
		}
	}
	low, known := readFrequency(least, old)
	switch {
	case !known && (least != "" && least != "0" || old):
		return bad(`unrecognized --cpu-freq argument "`, least, `"`)
	case !known:
		return bad()
	}
	name, allowed := governor(gov)
	switch {
	case governed && name == "":
		return bad("illegal governor: ", gov, " on --cpu-freq")
	case governed && !allowed:
		return bad("governor of ", v, " is not allowed in slurm.conf")
	case !ranged && governed && name == "UserSpace" && !old:
		return text(&p.more().CPUFreq, low.text)
	case !ranged && governed:
		return bad("gov on cpu-frec (", gov, ") illegal without max")
	case !ranged:
		return text(&p.more().CPUFreq, low.text)
	case !governed && !old:
		return bad("You must explicitly choose a governor when defining a range. Please specify only one value for the desired " +
			"frequency (p1) or choose a specific governor (p3).")
	}
	high, known := readFrequency(most, old)
	switch {
	case !known:
		return bad(`unrecognized --cpu-freq argument "`, most, `"`)
	case high.rank < low.rank:
		return bad("min cpu-frec (", least, ") must be < max cpu-freq (", most, ")")
	case name == "UserSpace" && !old:
		return bad("userspace governor does not support a range. Please specify only one value for the desired frequency (p1) " +
			"or choose a different governor.")
	}
	if name != "" {
		name = ":" + name
	}
	return text(&p.more().CPUFreq, low.text+"-"+high.text+name)
}

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

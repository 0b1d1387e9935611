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

// frequencyWords are known by their first letters.
var frequencyWords = [...]struct{ prefix, text string }{{"lo", "Low"}, {"me", "Medium"}, {"highm1", "Highm1"}, {"hi", "High"}}

// governors are known by their first letters. Those that slurm.conf does not allow by default (CpuFreqGovernors) are refused, as sbatch
// does at a site that says nothing of them.
var governors = [...]struct {
	prefix, text string
	allowed      bool
}{{"co", "Conservative", false}, {"on", "OnDemand", true}, {"pe", "Performance", true}, {"po", "PowerSave", false},
	{"us", "UserSpace", true}, {"sc", "SchedUtil", false}}

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
	values, gov, governed := strings.Cut(v, ":")
	least, most, ranged := strings.Cut(values, "-")
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
	for i, w := range frequencyWords {
		if strings.HasPrefix(strings.ToLower(s), w.prefix) {
			return frequency{w.text, 1<<32 + [...]int64{1, 2, 4, 3}[i]}, true
		}
	}
	return f, false
}

func governor(s string) (name string, allowed bool) {
	for _, g := range governors {
		if strings.HasPrefix(strings.ToLower(s), g.prefix) {
			return g.text, g.allowed
		}
	}
	return "", false
}

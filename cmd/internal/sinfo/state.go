package sinfo

import (
	"slices"
	"strings"

	"fsub/slurm/wire"
)

// stateName is one state of a node as sinfo writes it.
type stateName struct{ long, short string }

// nodeState is the one word for a node's list of states, with the sign that some flags add.
func nodeState(n *wire.Node) stateName {
	s := baseState(n)
	sign := ""
	switch {
	case n.State.Has("POWERING_DOWN"):
		sign = "%"
	case n.State.Has("POWERED_DOWN"):
		sign = "~"
	case n.State.Has("POWERING_UP"): // and NOT_RESPONDING until it is there
		sign = "#"
	case n.State.Has("NOT_RESPONDING"):
		sign = "*"
	case n.State.Has("POWER_DOWN"):
		sign = "!"
	case n.State.Has("REBOOT_ISSUED"):
		sign = "^"
	case n.State.Has("REBOOT_REQUESTED"):
		sign = "@"
	case n.State.Has("PLANNED") && !n.State.Has("IDLE"):
		sign = "-"
	case n.State.Has("MAINTENANCE") && s.long != "maint":
		sign = "$"
	}
	return stateName{s.long + sign, s.short + sign}
}

func baseState(n *wire.Node) stateName {
	busy := n.State.Has("ALLOCATED") || n.State.Has("MIXED") || n.State.Has("COMPLETING")
	switch {
	case n.State.Has("MAINTENANCE") && !busy && !n.State.Has("DOWN"):
		return stateName{"maint", "maint"}
	case n.State.Has("DRAIN") && busy, n.State.Has("DRAINING"):
		return stateName{"draining", "drng"}
	case n.State.Has("DRAIN"), n.State.Has("DRAINED"):
		return stateName{"drained", "drain"}
	case n.State.Has("FAIL") && busy, n.State.Has("FAILING"):
		return stateName{"failing", "failg"}
	case n.State.Has("FAIL"):
		return stateName{"fail", "fail"}
	case n.State.Has("DOWN"), n.State.Has("INVALID_REG"):
		return stateName{"down", "down"}
	case n.State.Has("COMPLETING") && !n.State.Has("ALLOCATED") && !n.State.Has("MIXED"):
		return stateName{"completing", "comp"}
	case n.State.Has("MIXED"):
		return stateName{"mixed", "mix"}
	case n.State.Has("ALLOCATED"):
		return stateName{"allocated", "alloc"}
	case n.State.Has("RESERVED"):
		return stateName{"reserved", "resv"}
	case n.State.Has("PLANNED"):
		return stateName{"planned", "plnd"}
	case n.State.Has("IDLE"):
		return stateName{"idle", "idle"}
	case n.State.Has("FUTURE"):
		return stateName{"future", "futr"}
	case n.State.Has("ERROR"):
		return stateName{"error", "error"}
	}
	return stateName{"unknown", "unk"}
}

// unusable reports whether a node that is not busy is neither allocated nor idle in the sense of
// A/I/O/T. One that is being started, or would be for a job, is idle though it does not answer.
func unusable(n *wire.Node) bool {
	return slices.ContainsFunc(n.State, func(s string) bool {
		switch s {
		case "DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "FUTURE", "UNKNOWN", "INVALID_REG":
			return true
		case "NOT_RESPONDING":
			return !n.State.Has("POWERING_UP") && !n.State.Has("POWERED_DOWN")
		}
		return false
	})
}

// stateRank orders states as sinfo does: by the number of the base state in Slurm, with flags far above it.
func stateRank(n *wire.Node) int {
	if n == nil {
		return -1
	}
	rank := 0
	for i, s := range []string{"DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE"} {
		if n.State.Has(s) {
			rank = i + 1
		}
	}
	for i, s := range []string{"RESERVED", "DRAIN", "COMPLETING", "NOT_RESPONDING", "POWERED_DOWN", "FAIL", "POWERING_UP", "MAINTENANCE", "PLANNED"} {
		if n.State.Has(s) {
			rank += 16 << i
		}
	}
	return rank
}

// stateTerm are words of --states that must all fit.
type stateTerm []string

// stateWords are the words that --states takes, as sinfo 24.11 lists them.
var stateWords = []string{"unknown", "down", "idle", "allocated", "?", "mixed", "future", "drain", "drained", "draining", "no_respond", "reserved",
	"planned", "blocked", "cloud", "completing", "powering_down", "powered_down", "power_down", "powering_up", "fail", "maint", "reboot", "reboot^"}

// shortStates are other spellings that --states takes.
var shortStates = []stateName{{"unknown", "unk"}, {"allocated", "alloc"}, {"mixed", "mix"}, {"future", "futr"}, {"drained", "drain"}, {"draining", "drng"},
	{"no_respond", "no_resp"}, {"reserved", "resv"}, {"planned", "plnd"}, {"blocked", "block"}, {"completing", "comp"}, {"powering_down", "pow_dn"},
	{"powered_down", "pow_off"}, {"powering_up", "powering_up"}, {"maint", "maintenance"}, {"fail", "failing"}}

// knownState is the word of --states that word means: itself, its beginning, or its short form; ""
// if there is none.
func knownState(word string) string {
	word = strings.ToLower(word)
	for _, s := range stateWords {
		if word != "" && strings.HasPrefix(s, word) {
			return s
		}
	}
	for _, s := range shortStates {
		if word == s.short {
			return s.long
		}
	}
	return ""
}

// fits reports whether a node is all that the term asks for.
func (t stateTerm) fits(n *wire.Node) bool {
	return !slices.ContainsFunc(t, func(word string) bool { return !inState(n, word) })
}

// inState reports whether a node is what a word of --states asks for: a base state, whatever flags
// are with it, or a flag.
func inState(n *wire.Node, word string) bool {
	has := func(flags ...string) bool { return slices.ContainsFunc(flags, n.State.Has) }
	busy := has("ALLOCATED", "MIXED", "COMPLETING")
	switch word {
	case "?":
		return has("ERROR")
	case "drain":
		return has("DRAIN", "DRAINED", "DRAINING")
	case "drained":
		return has("DRAINED") || has("DRAIN") && !busy
	case "draining":
		return has("DRAINING") || has("DRAIN") && busy
	case "no_respond":
		return has("NOT_RESPONDING")
	case "allocated":
		return busy // mixed ones too
	case "maint":
		return has("MAINTENANCE", "MAINT")
	case "reboot":
		return has("REBOOT_ISSUED", "REBOOT_REQUESTED")
	case "reboot^":
		return has("REBOOT_ISSUED")
	case "fail":
		return has("FAIL", "FAILING")
	}
	return has(strings.ToUpper(word))
}

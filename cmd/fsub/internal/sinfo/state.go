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
	case n.State.Has("NOT_RESPONDING"):
		sign = "*"
	case n.State.Has("POWERING_DOWN"):
		sign = "%"
	case n.State.Has("POWERED_DOWN"):
		sign = "~"
	case n.State.Has("POWERING_UP"):
		sign = "#"
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

// unusable reports whether a node that is not busy is neither allocated nor idle in the sense of A/I/O/T.
func unusable(n *wire.Node) bool {
	return slices.ContainsFunc(n.State, func(s string) bool {
		switch s {
		case "DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "FUTURE", "UNKNOWN", "INVALID_REG", "NOT_RESPONDING":
			return true
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

// nodeStates are the words that --states takes, and the lists that each stands for.
var nodeStates = []stateName{
	{"allocated", "alloc"}, {"completing", "comp"}, {"down", "down"}, {"drain", "drain"}, {"drained", "drain"}, {"draining", "drng"}, {"error", "error"},
	{"fail", "fail"}, {"failing", "failg"}, {"future", "futr"}, {"idle", "idle"}, {"maint", "maint"}, {"mixed", "mix"}, {"planned", "plnd"},
	{"power_down", "pow_dn"}, {"power_up", "pow_up"}, {"reserved", "resv"}, {"unknown", "unk"}, {"no_respond", "no_resp"}, {"powered_down", "~"}, {"reboot", "boot"},
}

// knownState is the long form of a word that --states takes, "" if it takes no such word.
func knownState(word string) string {
	word = strings.ToLower(word)
	for _, s := range nodeStates {
		if word == s.long || word == s.short {
			return s.long
		}
	}
	return ""
}

// inState reports whether a node is what a word of --states asks for. An idle or allocated node that is drained is not idle.
func inState(n *wire.Node, word string) bool {
	base := baseState(n).long
	switch word {
	case "drain":
		return base == "drained" || base == "draining"
	case "no_respond":
		return n.State.Has("NOT_RESPONDING")
	case "power_down", "powered_down":
		return n.State.Has("POWERED_DOWN") || n.State.Has("POWERING_DOWN")
	case "power_up":
		return n.State.Has("POWERING_UP")
	case "reboot":
		return n.State.Has("REBOOT_ISSUED") || n.State.Has("REBOOT_REQUESTED")
	case "completing":
		return n.State.Has("COMPLETING")
	case "allocated":
		return base == word || base == "completing"
	}
	return base == word
}

package health

import (
	"slices"
	"strings"

	"fsub/federation"
)

// Condition is what matters here of a node's state.
type Condition string

const (
	Unknown     Condition = "UNKNOWN"    // its site does not answer, or does not list it
	Between     Condition = "REBOOT"     // it reboots, or powers up for a job: a drain now could end that job
	Up          Condition = "UP"         // not drained; it may be NOT_RESPONDING for a moment
	Drained     Condition = "DRAIN"      // with or without jobs that still run
	Down        Condition = "DOWN"       // it does not answer
	DownAnswers Condition = "DOWN+"      // it answers, and slurmctld does not use it
	DownDrained Condition = "DOWN+DRAIN" // whether it answers or not
)

// Conditions are all of them.
var Conditions = []Condition{Unknown, Between, Up, Drained, Down, DownAnswers, DownDrained}

// ConditionOf reads a node's state. nil: the site does not list it.
func ConditionOf(n *federation.Node) Condition {
	if n == nil {
		return Unknown
	}
	has := func(s string) bool { return slices.Contains(n.State, s) }
	down, drained := has("DOWN"), has("DRAIN") || has("DRAINED") || has("DRAINING")
	busy := has("ALLOCATED") || has("MIXED")
	switch {
	case has("REBOOT_ISSUED") || has("REBOOT_REQUESTED") || has("POWERING_UP") && busy && !drained && n.Rented == nil:
		return Between
	case down && drained:
		return DownDrained
	case drained:
		return Drained
	case down && has("NOT_RESPONDING"):
		return Down
	case down:
		return DownAnswers
	}
	return Up
}

// Author is who gave a node the reason that it has.
type Author string

const (
	Nobody    Author = "nobody"    // there is no reason
	Ours      Author = "ours"      // operators of this federation, in the words of the record
	Earlier   Author = "earlier"   // operators of this federation, in other words
	Silence   Author = "silence"   // slurmctld: "Not responding"
	Slurmctld Author = "slurmctld" // its other reasons: a bad registration, a failed prolog
	Provider  Author = "provider"  // of rented machines: a notice, a failed agent
	Admin     Author = "admin"     // anybody else
)

// Authors are all of them.
var Authors = []Author{Nobody, Ours, Earlier, Silence, Slurmctld, Provider, Admin}

// slurmReasons begin the reasons that slurmctld and slurmd give, in lower case.
var slurmReasons = []string{
	"node unexpectedly rebooted", "resumetimeout reached", "reboot ", "low realmemory", "low cpus", "low tmpdisk", "low socket*core*thread count", "low socket*core count",
	"gres/", "prolog error", "prolog/epilog failure", "epilog error", "job env setup error", "kill task failed", "job step not running",
	"batch job complete failure", "duplicate jobid", "slurmdspooldir is full", "invalid registration", "future node", "gres core specialization",
}

// AuthorOf says who gave n its reason. text is that of the record, "" if there is none; mark is the federation's name.
func AuthorOf(n *federation.Node, text, mark string) Author {
	switch reason := strings.ToLower(n.Reason); {
	case reason == "" || reason == "none":
		return Nobody
	case text != "" && (n.Reason == text || strings.HasPrefix(n.Reason, text+" : ")): // from 23.02 on slurmctld adds its own behind it
		return Ours
	case strings.HasPrefix(n.Reason, mark+":"):
		return Earlier
	case n.Rented != nil:
		return Provider
	case strings.HasPrefix(reason, "not responding"):
		return Silence
	case slices.ContainsFunc(slurmReasons, func(s string) bool { return strings.HasPrefix(reason, s) }):
		return Slurmctld
	}
	return Admin
}

// Action is what is to be done about a node.
type Action string

const (
	Nothing Action = ""        // it is as it should be, or none of our business
	Wait    Action = "WAIT"    // look again
	Leave   Action = "LEAVE"   // somebody else's word stands, and ours waits behind it
	Drain   Action = "DRAIN"   // with the record's reason
	Undrain Action = "UNDRAIN" // end the drain, and nothing else
	Revive  Action = "RESUME"  // make a node that is DOWN usable
)

// Decide is the table of who wins. What is wanted is a drain, a resume, or "": nobody has said anything.
//
// A drain of ours is set on a node that is up, and set again whenever the site has forgotten it. Where somebody else has drained the node, or
// has taken it DOWN, that reason stays, and ours follows when it is gone. A resume ends drains of ours only. A node that went DOWN while we
// had drained it has our reason in front of slurmctld's, so that ReturnToService does not see "Not responding": it is revived by us once
// it answers.
func Decide(wish federation.NodeWish, is Condition, by Author) Action {
	ours := by == Ours || by == Earlier
	switch {
	case wish == "":
		return Nothing
	case is == Unknown || is == Between:
		return Wait
	}
	if wish == federation.WishDrain {
		switch is {
		case Up:
			return Drain
		case Drained, DownDrained:
			switch by {
			case Ours:
				return Nothing
			case Earlier:
				return Drain
			}
			return Leave
		}
		if ours || by == Silence || by == Nobody {
			return Drain
		}
		return Leave
	}
	switch {
	case is == Up:
		return Nothing
	case !ours:
		return Leave
	case is == DownAnswers:
		return Revive
	case is == Down:
		return Wait
	}
	return Undrain
}

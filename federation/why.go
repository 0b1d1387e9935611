package federation

import (
	"slices"
	"strings"
)

// Why says as data why a site, or a pool of it, cannot run a job. Programs act on the code; the sentence is made where somebody reads it, by [Why.Text].
type Why struct {
	Code  Code     `json:"code,omitempty"`
	Args  []string `json:"args,omitempty"`
	Notes []Note   `json:"notes,omitempty"`
}

// Note is what a sentence has in parentheses after it.
type Note struct {
	Code Code     `json:"code"`
	Args []string `json:"args,omitempty"`
}

// Code names a sentence. Codes are stored: they may be added to, but not renamed.
type Code string

// Codes of what placement says, in the order of its filters.
const (
	WhySitesAsked       Code = "sites_asked"
	WhySiteNotWanted    Code = "site_not_wanted"
	WhyNoPluginOption   Code = "no_plugin_option"
	WhyNoDirectory      Code = "no_directory"
	WhyFedState         Code = "fed_state"
	WhyNotSeen          Code = "not_seen"  // and the site's error, if there is one
	WhyNoAnswer         Code = "no_answer" // and the site's error, if there is one
	WhyNoOption         Code = "no_option"
	WhyNoLicenses       Code = "no_licenses"
	WhyNoLicense        Code = "no_license"
	WhyFewLicenses      Code = "too_few_licenses"
	WhyNoHetJobs        Code = "no_het_jobs"
	WhyTokenOfOther     Code = "token_of_other"
	WhyNoUser           Code = "no_user"
	WhyNoAccount        Code = "no_account"
	WhySubmitLimit      Code = "submit_limit"
	WhyNoPartition      Code = "no_partition"
	WhyNoDefault        Code = "no_default_partition"
	WhyNoNodes          Code = "no_nodes"
	WhyNotAsked         Code = "partition_not_asked"
	WhyPartitionState   Code = "partition_state"
	WhyRootOnly         Code = "root_only"
	WhyAccountBarred    Code = "account_barred"
	WhyNotAssociated    Code = "no_account_in_partition"
	WhyQOSOfUser        Code = "qos_of_user"
	WhyQOSOfPartition   Code = "qos_of_partition"
	WhyReservationUsers Code = "reservation_of_others"
	WhyNoReservation    Code = "no_reservation"
	WhyTooLong          Code = "longer_than_partition"
	WhyQOSTooLong       Code = "longer_than_qos"
	WhyTooManyNodes     Code = "more_nodes_than_partition"
	WhyTooFewNodes      Code = "fewer_nodes_than_partition"
	WhyNodesAsked       Code = "more_nodes_than_asked"
	WhyCPUsOfTask       Code = "cpus_of_task"
	WhyGRESOfNode       Code = "gres_of_node"
	WhyGRESOfTask       Code = "gres_of_task"
	WhyTasksOfNode      Code = "tasks_of_node"
	WhyCPUsOnEach       Code = "cpus_on_each_node"
	WhyCPUsOnNode       Code = "cpus_on_node"
	WhyMemoryOnNode     Code = "memory_on_node"
	WhyTmpDisk          Code = "disk_on_node"
	WhyLayout           Code = "layout_of_node"
	WhyNodeSizes        Code = "node_sizes"
	WhyGRESOnEach       Code = "gres_on_each_node"
	WhyOtherType        Code = "gres_of_other_type"
	WhyNodesWithout     Code = "nodes_without_gres"
	WhyNoSuchGRES       Code = "no_such_gres"
	WhyNoSuchFeature    Code = "no_such_feature"
	WhyFeatures         Code = "features"
	WhyNoSuchNode       Code = "no_such_node"
	WhyNodeElsewhere    Code = "node_not_in_pool"
	WhyBothLists        Code = "wanted_and_excluded"
	WhyPoolTooSmall     Code = "pool_too_small"
	WhyTooFewCPUs       Code = "too_few_cpus"
	WhyNodesOfPool      Code = "more_nodes_than_partition_here"
	WhyOneSwitch        Code = "one_switch"
	WhySwitches         Code = "switches"
	WhyOneSwitchUp      Code = "one_switch_up"
	WhySwitchesUp       Code = "switches_up"
	WhySegmentOdd       Code = "segment_odd"
	WhySegments         Code = "segments"
	WhySegmentsUp       Code = "segments_up"
	WhySegmentLarge     Code = "segment_large"
	WhyBlocks           Code = "blocks"
	WhyBlocksUp         Code = "blocks_up"
	WhyNoSwitch         Code = "no_switch"
	WhyNoSwitchUp       Code = "no_switch_up"
	WhyUnheeded         Code = "unheeded"
	WhyContiguous       Code = "contiguous"
	WhyNodesUp          Code = "nodes_up"
	WhyNodeState        Code = "node_state"
	WhyNodesToBeHad     Code = "nodes_to_be_had"
	WhyNodesEnd         Code = "nodes_end"
	WhyBudget           Code = "budget"
	WhyCost             Code = "cost"
	WhyCostAgain        Code = "cost_again"
	WhyPartsApart       Code = "components_apart"
	WhyRunBefore        Code = "run_before"
	WhyMadeRoom         Code = "made_room"
	WhyMovedFrom        Code = "moved_from"
	WhyTakenThere       Code = "taken_there"
	WhyAfterDeadline    Code = "after_deadline"
	WhyMovedTo          Code = "moved_to"
	WhyGhost            Code = "forgotten_run"

	// What keeps a job waiting before placement looks at it: see [Wait].
	WaitStart         Code = "wait_start"
	WaitEnd           Code = "wait_end"
	WaitSuccess       Code = "wait_success"
	WaitFailure       Code = "wait_failure"
	WaitDelay         Code = "wait_delay"
	WaitNeverSuccess  Code = "wait_never_success"
	WaitNeverFailure  Code = "wait_never_failure"
	WaitNamesake      Code = "wait_namesake"
	WaitNamesakes     Code = "wait_namesakes"
	WaitBegin         Code = "wait_begin"
	WaitHeld          Code = "wait_held"
	WaitHeldBy        Code = "wait_held_by"
	WaitRestoredArray Code = "wait_restored_array"
	WaitRule          Code = "wait_rule"
	WaitFailures      Code = "wait_failures"
	WaitTasks         Code = "wait_array_limit"
	WaitRestored      Code = "wait_restored"
	WaitFault         Code = "wait_fault"
	WaitCloudQueue    Code = "wait_cloud_queue"

	// What ends that.
	AdviseCancel     Code = "advise_cancel"
	AdviseDependency Code = "advise_dependency"
	AdviseRelease    Code = "advise_release"
	AdviseOperator   Code = "advise_operator"
	AdviseLook       Code = "advise_look"
	AdviseBegin      Code = "advise_begin"
	AdviseTasks      Code = "advise_array_limit"

	NoteAs          Code = "as"
	NoteUntil       Code = "until"
	NoteComponent   Code = "component"
	NoteOnUpTo      Code = "on_up_to"
	NoteNoTimeLimit Code = "no_time_limit"
	NoteTogether    Code = "components_together"
)

// sentences are the words for each code. An argument more than there are places for is told after a colon.
var sentences = map[Code]string{
	WhySitesAsked:       "the job asks for %s",
	WhySiteNotWanted:    "the job does not want it",
	WhyNoPluginOption:   "it has no option --%s",
	WhyNoDirectory:      "%s is not there, and the job copies nothing",
	WhyFedState:         "FedState is %s",
	WhyNotSeen:          "not seen yet",
	WhyNoAnswer:         "does not answer",
	WhyNoOption:         "its interface cannot carry --%s",
	WhyNoLicenses:       "no licenses are counted there",
	WhyNoLicense:        "no license %s there",
	WhyFewLicenses:      "asks for %s licenses of %s, there are %s",
	WhyNoHetJobs:        "its interface cannot carry heterogeneous jobs",
	WhyTokenOfOther:     "its token acts for %s only",
	WhyNoUser:           "no user %s in its accounting",
	WhyNoAccount:        "user %s has no account %s",
	WhySubmitLimit:      "the site takes no more jobs of %s until some have ended",
	WhyNoPartition:      "no partition %s",
	WhyNoDefault:        "no default partition, and the job names none",
	WhyNoNodes:          "no nodes",
	WhyNotAsked:         "not asked for",
	WhyPartitionState:   "partition is %s",
	WhyRootOnly:         "partition is RootOnly",
	WhyAccountBarred:    "account %s may not use the partition",
	WhyNotAssociated:    "user %s has no account %s in the partition",
	WhyQOSOfUser:        "user %s may not use QOS %s",
	WhyQOSOfPartition:   "partition does not allow QOS %s",
	WhyReservationUsers: "%s may not use reservation %s",
	WhyNoReservation:    "no reservation %s",
	WhyTooLong:          "asks for %s, partition allows %s",
	WhyQOSTooLong:       "asks for %s, QOS %s allows %s",
	WhyTooManyNodes:     "asks for %s nodes, partition allows %s",
	WhyTooFewNodes:      "asks for %s nodes, partition wants %s",
	WhyNodesAsked:       "takes %s, asked for at most %s",
	WhyCPUsOfTask:       "%s CPUs for a task, nodes have %s",
	WhyGRESOfNode:       "%s %s on each node, nodes have %s",
	WhyGRESOfTask:       "%s %s for a task, nodes have %s",
	WhyTasksOfNode:      "%s tasks of %s CPUs on each node, nodes have room for %s",
	WhyCPUsOnEach:       "%s CPUs on each of %s nodes, they have %s",
	WhyCPUsOnNode:       "%s CPUs on a node, nodes have %s",
	WhyMemoryOnNode:     "%s of memory on a node, nodes have %s",
	WhyTmpDisk:          "%s of temporary disk on a node, nodes have %s",
	WhyLayout:           "%s %s, nodes have %s",
	WhyNodeSizes:        "takes %s, asked for %s",
	WhyGRESOnEach:       "%s %s on each of %s nodes, they have %s",
	WhyOtherType:        "no %s of type %s, nodes have %s",
	WhyNodesWithout:     "nodes have no %s",
	WhyNoSuchGRES:       "no GRES %s at the site",
	WhyNoSuchFeature:    "no node has feature %s",
	WhyFeatures:         "asks for %s, nodes have %s",
	WhyNoSuchNode:       "no node %s",
	WhyNodeElsewhere:    "node %s is not in the pool",
	WhyBothLists:        "wanted and excluded at once: node %s",
	WhyPoolTooSmall:     "%s, pool has %s",
	WhyTooFewCPUs:       "too few CPUs: %s tasks, pool has %s",
	WhyNodesOfPool:      "%s, partition allows %s",
	WhyOneSwitch:        "%s nodes under one switch, largest leaf has %s",
	WhySwitches:         "%s nodes under %s switches, the largest have %s",
	WhyOneSwitchUp:      "%s nodes under one switch, largest leaf has %s up",
	WhySwitchesUp:       "%s nodes under %s switches, the largest have %s up",
	WhySegmentOdd:       "%s nodes are not a multiple of --segment=%s",
	WhySegmentLarge:     "--segment=%s is larger than a base block of %s nodes, which Slurm allows since 26.05",
	WhyBlocks:           "%s nodes in as few blocks as topology/block wants, they have room for %s",
	WhyBlocksUp:         "%s nodes in as few blocks as topology/block wants, they have %s up",
	WhyNoSwitch:         "%s nodes under switches that are connected, they have %s",
	WhyNoSwitchUp:       "%s nodes under switches that are connected, they have %s up",
	WhyUnheeded:         "its topology plugin ignores %s, another one does not",
	WhySegments:         "%s nodes in segments of %s, its switches or blocks have room for %s segments",
	WhySegmentsUp:       "%s nodes in segments of %s, its switches or blocks have nodes up for %s segments",
	WhyContiguous:       "%s nodes that follow each other, it has no such row",
	WhyNodesUp:          "%s, %s of %s are up",
	WhyNodeState:        "node %s is %s",
	WhyNodesToBeHad:     "%s, %s of %s can be had",
	WhyNodesEnd:         "may run for %s, and the nodes are there until %s",
	WhyBudget:           "may cost $%s %s until its time limit, $%s left: of $%s $%s spent, $%s bound by running jobs",
	WhyCost:             "would cost $%s, the job may cost $%s",
	WhyCostAgain:        "would cost $%s after $%s so far, the job may cost $%s",
	WhyPartsApart:       "its components do not fit at one time",
	WhyRunBefore:        "it remembers the run before under the same number until %s",
	WhyMadeRoom:         "the job made room for another one there, and it remembers that run under the same number until %s",
	WhyMovedFrom:        "the job was moved away from it",
	WhyTakenThere:       "spot machines of %s were taken from this job at %s",
	WhyAfterDeadline:    "it would end at %s, after the deadline of %s",
	WhyMovedTo:          "the job was moved to %s",
	WhyGhost:            "its controller has forgotten a run of the job, which may still live on a node",

	WaitStart:         "waits for %s to start: it is %s",
	WaitEnd:           "waits for %s to end: it is %s",
	WaitSuccess:       "waits for %s to end with exit code 0: it is %s",
	WaitFailure:       "waits for %s to fail: it is %s",
	WaitDelay:         "waits for %s after the start of %s",
	WaitNeverSuccess:  "can never start: %s had to end with exit code 0, and is %s",
	WaitNeverFailure:  "can never start: %s had to fail, and is %s",
	WaitNamesake:      "waits for %s to end, an earlier job of the same name: it is %s (--dependency=singleton)",
	WaitNamesakes:     "waits for the earlier jobs of the same name to end (--dependency=singleton)",
	WaitBegin:         "does not start before its begin time",
	WaitHeld:          "held",
	WaitHeldBy:        "held by %s",
	WaitRestoredArray: "held because the store was restored from a copy of %s: tasks may have run since",
	WaitRule:          "held by rule %s: %s",
	WaitFailures:      "held because nodes have failed it %s times",
	WaitTasks:         "its array runs at most %s at once (%%s), and %s run",
	WaitRestored:      "the store was restored from a copy, and not all sites have said yet whether the job has run since",
	WaitFault:         "placement failed over it, which is a fault of the daemon: its log says more",
	WaitCloudQueue:    "%s has queued the request for its machines",

	AdviseCancel:     "give it up: scancel %s",
	AdviseDependency: "let it start without: scontrol update jobid=%s dependency=",
	AdviseRelease:    "let it go: scontrol release %s",
	AdviseOperator:   "only an operator can let it go: scontrol release %s",
	AdviseLook:       "look at the sites which of its tasks have run: sacct -M all -j %s",
	AdviseBegin:      "start it now: scontrol update jobid=%s starttime=now",
	AdviseTasks:      "run more at once: scontrol update jobid=%s arraytaskthrottle=N",

	NoteAs:          "as %s",
	NoteUntil:       "until %s",
	NoteComponent:   "component %s",
	NoteOnUpTo:      "on up to %s",
	NoteNoTimeLimit: "it has no time limit: %s are assumed",
	NoteTogether:    "its components together",
}

// Because makes a Why.
func Because(code Code, args ...string) *Why { return &Why{Code: code, Args: args} }

// With returns a copy of w, which may be nil, with one more note.
func (w *Why) With(code Code, args ...string) *Why {
	var c Why
	if w != nil {
		c = *w
	}
	c.Notes = append(slices.Clip(c.Notes), Note{code, args})
	return &c
}

// Text is w in words, without its notes. A code of a newer version stands for itself.
func (w *Why) Text() string { return sentence(w.Code, w.Args) }

func sentence(code Code, args []string) string {
	sentence, known := sentences[code]
	if !known {
		sentence = string(code)
	}
	var b strings.Builder
	for len(args) > 0 {
		before, after, found := strings.Cut(sentence, "%s")
		if !found {
			break
		}
		b.WriteString(before)
		b.WriteString(args[0])
		sentence, args = after, args[1:]
	}
	b.WriteString(sentence)
	for _, more := range args {
		b.WriteString(": ")
		b.WriteString(more)
	}
	return b.String()
}

// Full is the sentence with its notes in parentheses.
func (w *Why) Full() string {
	text := w.Text()
	for _, note := range w.Notes {
		text += " (" + sentence(note.Code, note.Args) + ")"
	}
	return text
}

// Fixed is a code's sentence where it is always the same; "" if it has arguments.
func Fixed(code Code) string {
	if strings.Contains(sentences[code], "%s") {
		return ""
	}
	return sentences[code]
}

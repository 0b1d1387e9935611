// Package codes says as data why a site or a pool cannot run a job, and what a job waits for: a [Code] with its arguments, from which [Why.Text] makes the sentence
// where somebody reads it. Programs act on the code; nobody reads a sentence back. It is pure.
package codes

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
	SitesAsked       Code = "sites_asked"
	SiteNotWanted    Code = "site_not_wanted"
	NoPluginOption   Code = "no_plugin_option"
	NoDirectory      Code = "no_directory"
	FedState         Code = "fed_state"
	NotSeen          Code = "not_seen"  // and the site's error, if there is one
	NoAnswer         Code = "no_answer" // and the site's error, if there is one
	NoOption         Code = "no_option"
	NoLicenses       Code = "no_licenses"
	NoLicense        Code = "no_license"
	FewLicenses      Code = "too_few_licenses"
	NoHetJobs        Code = "no_het_jobs"
	TokenOfOther     Code = "token_of_other"
	NoUser           Code = "no_user"
	NoAccount        Code = "no_account"
	SubmitLimit      Code = "submit_limit"
	NoPartition      Code = "no_partition"
	NoDefault        Code = "no_default_partition"
	NoNodes          Code = "no_nodes"
	NotAsked         Code = "partition_not_asked"
	PartitionState   Code = "partition_state"
	RootOnly         Code = "root_only"
	AccountBarred    Code = "account_barred"
	NotAssociated    Code = "no_account_in_partition"
	QOSOfUser        Code = "qos_of_user"
	QOSOfPartition   Code = "qos_of_partition"
	ReservationUsers Code = "reservation_of_others"
	NoReservation    Code = "no_reservation"
	TooLong          Code = "longer_than_partition"
	QOSTooLong       Code = "longer_than_qos"
	TooManyNodes     Code = "more_nodes_than_partition"
	TooFewNodes      Code = "fewer_nodes_than_partition"
	NodesAsked       Code = "more_nodes_than_asked"
	CPUsOfTask       Code = "cpus_of_task"
	GRESOfNode       Code = "gres_of_node"
	GRESOfTask       Code = "gres_of_task"
	TasksOfNode      Code = "tasks_of_node"
	CPUsOnEach       Code = "cpus_on_each_node"
	CPUsOnNode       Code = "cpus_on_node"
	MemoryOnNode     Code = "memory_on_node"
	TmpDisk          Code = "disk_on_node"
	Layout           Code = "layout_of_node"
	NodeSizes        Code = "node_sizes"
	GRESOnEach       Code = "gres_on_each_node"
	OtherType        Code = "gres_of_other_type"
	NodesWithout     Code = "nodes_without_gres"
	NoSuchGRES       Code = "no_such_gres"
	NoSuchFeature    Code = "no_such_feature"
	Features         Code = "features"
	NoSuchNode       Code = "no_such_node"
	NodeElsewhere    Code = "node_not_in_pool"
	BothLists        Code = "wanted_and_excluded"
	PoolTooSmall     Code = "pool_too_small"
	TooFewCPUs       Code = "too_few_cpus"
	NodesOfPool      Code = "more_nodes_than_partition_here"
	OneSwitch        Code = "one_switch"
	Switches         Code = "switches"
	OneSwitchUp      Code = "one_switch_up"
	SwitchesUp       Code = "switches_up"
	SegmentOdd       Code = "segment_odd"
	Segments         Code = "segments"
	SegmentsUp       Code = "segments_up"
	SegmentLarge     Code = "segment_large"
	Blocks           Code = "blocks"
	BlocksUp         Code = "blocks_up"
	NoSwitch         Code = "no_switch"
	NoSwitchUp       Code = "no_switch_up"
	Unheeded         Code = "unheeded"
	Contiguous       Code = "contiguous"
	NodesUp          Code = "nodes_up"
	NodeState        Code = "node_state"
	NodesToBeHad     Code = "nodes_to_be_had"
	NodesEnd         Code = "nodes_end"
	Budget           Code = "budget"
	Cost             Code = "cost"
	CostAgain        Code = "cost_again"
	PartsApart       Code = "components_apart"
	RunBefore        Code = "run_before"
	MadeRoom         Code = "made_room"
	MovedFrom        Code = "moved_from"
	TakenThere       Code = "taken_there"
	AfterDeadline    Code = "after_deadline"
	MovedTo          Code = "moved_to"
	Ghost            Code = "forgotten_run"

	// What keeps a job waiting before placement looks at it: see [Wait].
	WaitStart         Code = "wait_start"
	WaitEnd           Code = "wait_end"
	WaitSuccess       Code = "wait_success"
	WaitFailure       Code = "wait_failure"
	WaitDelay         Code = "wait_delay"
	WaitNeverSuccess  Code = "wait_never_success"
	WaitNeverFailure  Code = "wait_never_failure"
	WaitNeverStart    Code = "wait_never_start"
	WaitNamesake      Code = "wait_namesake"
	WaitNamesakes     Code = "wait_namesakes"
	WaitBegin         Code = "wait_begin"
	WaitHeld          Code = "wait_held"
	WaitHeldBy        Code = "wait_held_by"
	WaitRestoredArray Code = "wait_restored_array"
	WaitRule          Code = "wait_rule"
	WaitFailures      Code = "wait_failures"
	WaitDamaged       Code = "wait_damaged"
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
	SitesAsked:       "the job asks for %s",
	SiteNotWanted:    "the job does not want it",
	NoPluginOption:   "it has no option --%s",
	NoDirectory:      "%s is not there, and the job copies nothing",
	FedState:         "FedState is %s",
	NotSeen:          "not seen yet",
	NoAnswer:         "does not answer",
	NoOption:         "its interface cannot carry --%s",
	NoLicenses:       "no licenses are counted there",
	NoLicense:        "no license %s there",
	FewLicenses:      "asks for %s licenses of %s, there are %s",
	NoHetJobs:        "its interface cannot carry heterogeneous jobs",
	TokenOfOther:     "its token acts for %s only",
	NoUser:           "no user %s in its accounting",
	NoAccount:        "user %s has no account %s",
	SubmitLimit:      "the site takes no more jobs of %s until some have ended",
	NoPartition:      "no partition %s",
	NoDefault:        "no default partition, and the job names none",
	NoNodes:          "no nodes",
	NotAsked:         "not asked for",
	PartitionState:   "partition is %s",
	RootOnly:         "partition is RootOnly",
	AccountBarred:    "account %s may not use the partition",
	NotAssociated:    "user %s has no account %s in the partition",
	QOSOfUser:        "user %s may not use QOS %s",
	QOSOfPartition:   "partition does not allow QOS %s",
	ReservationUsers: "%s may not use reservation %s",
	NoReservation:    "no reservation %s",
	TooLong:          "asks for %s, partition allows %s",
	QOSTooLong:       "asks for %s, QOS %s allows %s",
	TooManyNodes:     "asks for %s nodes, partition allows %s",
	TooFewNodes:      "asks for %s nodes, partition wants %s",
	NodesAsked:       "takes %s, asked for at most %s",
	CPUsOfTask:       "%s CPUs for a task, nodes have %s",
	GRESOfNode:       "%s %s on each node, nodes have %s",
	GRESOfTask:       "%s %s for a task, nodes have %s",
	TasksOfNode:      "%s tasks of %s CPUs on each node, nodes have room for %s",
	CPUsOnEach:       "%s CPUs on each of %s nodes, they have %s",
	CPUsOnNode:       "%s CPUs on a node, nodes have %s",
	MemoryOnNode:     "%s of memory on a node, nodes have %s",
	TmpDisk:          "%s of temporary disk on a node, nodes have %s",
	Layout:           "%s %s, nodes have %s",
	NodeSizes:        "takes %s, asked for %s",
	GRESOnEach:       "%s %s on each of %s nodes, they have %s",
	OtherType:        "no %s of type %s, nodes have %s",
	NodesWithout:     "nodes have no %s",
	NoSuchGRES:       "no GRES %s at the site",
	NoSuchFeature:    "no node has feature %s",
	Features:         "asks for %s, nodes have %s",
	NoSuchNode:       "no node %s",
	NodeElsewhere:    "node %s is not in the pool",
	BothLists:        "wanted and excluded at once: node %s",
	PoolTooSmall:     "%s, pool has %s",
	TooFewCPUs:       "too few CPUs: %s tasks, pool has %s",
	NodesOfPool:      "%s, partition allows %s",
	OneSwitch:        "%s nodes under one switch, largest leaf has %s",
	Switches:         "%s nodes under %s switches, the largest have %s",
	OneSwitchUp:      "%s nodes under one switch, largest leaf has %s up",
	SwitchesUp:       "%s nodes under %s switches, the largest have %s up",
	SegmentOdd:       "%s nodes are not a multiple of --segment=%s",
	SegmentLarge:     "--segment=%s is larger than a base block of %s nodes, which Slurm allows since 26.05",
	Blocks:           "%s nodes in as few blocks as topology/block wants, they have room for %s",
	BlocksUp:         "%s nodes in as few blocks as topology/block wants, they have %s up",
	NoSwitch:         "%s nodes under switches that are connected, they have %s",
	NoSwitchUp:       "%s nodes under switches that are connected, they have %s up",
	Unheeded:         "its topology plugin ignores %s, another one does not",
	Segments:         "%s nodes in segments of %s, its switches or blocks have room for %s segments",
	SegmentsUp:       "%s nodes in segments of %s, its switches or blocks have nodes up for %s segments",
	Contiguous:       "%s nodes that follow each other, it has no such row",
	NodesUp:          "%s, %s of %s are up",
	NodeState:        "node %s is %s",
	NodesToBeHad:     "%s, %s of %s can be had",
	NodesEnd:         "may run for %s, and the nodes are there until %s",
	Budget:           "may cost $%s %s until its time limit, $%s left: of $%s $%s spent, $%s bound by running jobs",
	Cost:             "would cost $%s, the job may cost $%s",
	CostAgain:        "would cost $%s after $%s so far, the job may cost $%s",
	PartsApart:       "its components do not fit at one time",
	RunBefore:        "it remembers the run before under the same number until %s",
	MadeRoom:         "the job made room for another one there, and it remembers that run under the same number until %s",
	MovedFrom:        "the job was moved away from it",
	TakenThere:       "spot machines of %s were taken from this job at %s",
	AfterDeadline:    "it would end at %s, after the deadline of %s",
	MovedTo:          "the job was moved to %s",
	Ghost:            "its controller has forgotten a run of the job, which may still live on a node",

	WaitStart:         "waits for %s to start: it is %s",
	WaitEnd:           "waits for %s to end: it is %s",
	WaitSuccess:       "waits for %s to end with exit code 0: it is %s",
	WaitFailure:       "waits for %s to fail: it is %s",
	WaitDelay:         "waits for %s after the start of %s",
	WaitNeverSuccess:  "can never start: %s had to end with exit code 0, and is %s",
	WaitNeverFailure:  "can never start: %s had to fail, and is %s",
	WaitNeverStart:    "can never start: %s comes first, and can never start either, since %s is %s",
	WaitNamesake:      "waits for %s to end, an earlier job of the same name: it is %s (--dependency=singleton)",
	WaitNamesakes:     "waits for the earlier jobs of the same name to end (--dependency=singleton)",
	WaitBegin:         "does not start before its begin time",
	WaitHeld:          "held",
	WaitHeldBy:        "held by %s",
	WaitRestoredArray: "held because the store was restored from a copy of %s: tasks may have run since",
	WaitRule:          "held by rule %s: %s",
	WaitFailures:      "held because nodes have failed it %s times",
	WaitDamaged:       "held because no copy of what it keeps (--keep) is whole: released, it begins with what lies in its working directory",
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

package health

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/health/xid"
	"fsub/federation/reasons"
)

// Code says what kind of failure ended an attempt, or what a health check found. Codes are stored: they are never renamed.
type Code = federation.FailureCode

const (
	CodeExit     Code = "exit"          // an exit code of the job's own
	CodeSignal   Code = "signal"        // it crashed, or was killed by a signal
	CodeTimeout  Code = "timeout"       // its time limit
	CodeDeadline Code = "deadline"      // its deadline
	CodeMemory   Code = "out-of-memory" // its own memory limit
	CodeNCCL     Code = "nccl-use"      // NCCL was used wrongly

	CodeNodeFail   Code = "node-fail"   // the node went down
	CodeBootFail   Code = "boot-fail"   // the node did not boot
	CodeLaunch     Code = "launch"      // the node could not start the job: a prolog, its environment
	CodeEarly      Code = "early-death" // it died within a minute, and others tell that the node is to blame
	CodeBus        Code = "bus-error"   // SIGBUS
	CodeMount      Code = "no-command"  // exit code 126 or 127: perhaps a file system is not mounted
	CodeECC        Code = "gpu-ecc"     // uncorrectable memory errors of a GPU
	CodeLostGPU    Code = "gpu-lost"    // a GPU has fallen off the bus
	CodeSpool      Code = "spool"       // slurmd's directory is full or broken
	CodeNodeMemory Code = "node-memory" // the node ran out of memory
	CodeLink       Code = "link"        // an InfiniBand link or route
	CodePeer       Code = "peer"        // another rank, or the way to it, was gone
	CodeSlow       Code = "slow"        // like jobs run faster elsewhere; no failure
	CodeLate       Code = "late"        // other nodes of a running gang are faster; no failure

	CodeMoved     Code = "moved"     // it was taken away to run at another site
	CodeForgotten Code = "forgotten" // the site's controller has lost the job
	CodeStorm     Code = "storm"     // many nodes of the site failed at once
	CodeCapacity  Code = "capacity"  // the site could not start it
	CodePreempted Code = "preempted" // something more important took the nodes
)

// codes say whose failure each is. Those that are not named are of health checks or XIDs, and the node's.
var codes = []struct {
	code  Code
	class federation.FailureClass
	what  string
}{
	{CodeExit, federation.ClassUser, "an exit code of the job's own"},
	{CodeSignal, federation.ClassUser, "a crash, or a signal"},
	{CodeTimeout, federation.ClassUser, "its time limit"},
	{CodeDeadline, federation.ClassUser, "its deadline"},
	{CodeMemory, federation.ClassUser, "its own memory limit"},
	{CodeNCCL, federation.ClassUser, "a wrong use of NCCL"},
	{CodeNodeFail, federation.ClassNode, "the node went down"},
	{CodeBootFail, federation.ClassNode, "the node did not boot"},
	{CodeLaunch, federation.ClassNode, "the node could not start it"},
	{CodeEarly, federation.ClassNode, "it died at once, and others tell that the node is to blame"},
	{CodeBus, federation.ClassNode, "a bus error"},
	{CodeMount, federation.ClassUser, "a command that is not there; on one node alone, a file system that is not mounted"},
	{CodeECC, federation.ClassNode, "uncorrectable memory errors of a GPU"},
	{CodeLostGPU, federation.ClassNode, "a GPU that has fallen off the bus"},
	{CodeSpool, federation.ClassNode, "slurmd's directory is full or broken"},
	{CodeNodeMemory, federation.ClassNode, "the node ran out of memory"},
	{CodeLink, federation.ClassNode, "a network link"},
	{CodePeer, federation.ClassNode, "another rank, or the way to it, was gone"},
	{CodeMoved, federation.ClassNone, "it was moved to another site"},
	{CodeForgotten, federation.ClassSite, "the site's controller lost it"},
	{CodeStorm, federation.ClassSite, "many nodes of the site failed at once"},
	{CodeCapacity, federation.ClassCapacity, "the site could not start it"},
	{CodePreempted, federation.ClassPreempt, "it was preempted"},
}

// ClassOf is whose failure a code stands for.
func ClassOf(c Code) federation.FailureClass {
	for i := range codes {
		if codes[i].code == c {
			return codes[i].class
		}
	}
	if strings.HasPrefix(string(c), "xid-") || strings.HasPrefix(string(c), "check-") {
		return federation.ClassNode
	}
	return federation.ClassUser
}

// What says in words what a code stands for.
func What(c Code) string {
	for i := range codes {
		if codes[i].code == c {
			return codes[i].what
		}
	}
	if n, ok := strings.CutPrefix(string(c), "xid-"); ok {
		return "the GPU's driver reports Xid " + n
	}
	return string(c)
}

// End is how an attempt ended, as far as that can be seen from here.
type End struct {
	State  federation.State
	Reason reasons.Reason
	Exit   int32         // as wait(2) gives it
	Ran    time.Duration // from its start to its end
	// Text is what is said of the end: the site's own words, and where they can be read the last lines of what the job wrote. Users write those: no drain comes of them.
	Text string
}

// Classify tells whose failure the end of an attempt was by itself, without what is known of other jobs and of the node: ClassNone for one that
// is none. doubtful: the node may be to blame instead, if others tell so.
func Classify(e End) (class federation.FailureClass, code Code, doubtful bool) {
	code, doubtful = codeOf(e)
	if code == "" {
		return federation.ClassNone, "", false
	}
	return ClassOf(code), code, doubtful
}

func codeOf(e End) (code Code, doubtful bool) {
	switch e.State {
	case federation.Completed, federation.Cancelled:
		return "", false
	case federation.NodeFail:
		return CodeNodeFail, false
	case federation.BootFail:
		return CodeBootFail, false
	case federation.Preempted:
		return CodePreempted, false
	case federation.Timeout:
		return CodeTimeout, false
	case federation.Deadline:
		return CodeDeadline, false
	case federation.OutOfMemory:
		return CodeMemory, false
	}
	soon := e.Ran <= Early
	if e.Exit&0x7f == ioExit {
		return CodeExit, false
	}
	if e.Reason == reasons.LaunchFailure || strings.HasPrefix(string(e.Reason), "launch_failed") {
		return CodeLaunch, soon
	}
	if c := codeOfText(e.Text); c != "" {
		return c, false
	}
	exit, signal := int(e.Exit>>8), int(e.Exit&0x7f)
	if exit > 128 && signal == 0 {
		signal = exit - 128 // as shells tell it
	}
	switch {
	case signal == 7 && soon: // SIGBUS
		return CodeBus, true
	case (exit == 126 || exit == 127) && soon:
		return CodeMount, true // mostly the job's own fault: others have to tell
	case signal != 0:
		return CodeSignal, soon
	}
	return CodeExit, soon
}

// signs are what texts tell. The first that matches counts.
var signs = []struct {
	code Code
	is   *regexp.Regexp
}{
	{CodeLostGPU, regexp.MustCompile(`(?i)fallen off the bus|GPU is lost`)},
	{CodeECC, regexp.MustCompile(`(?i)uncorrectable ECC|double.bit ECC|cudaErrorECCUncorrectable`)},
	{CodeSpool, regexp.MustCompile(`(?i)SlurmdSpoolDir is full|slurmd.{0,60}(No space left|Read-only file system|Input/output error)`)},
	{CodeNodeMemory, regexp.MustCompile(`(?i)Out of memory: Kill(ed)? process .*(slurmd|slurmstepd|fed-agent)`)},
	{CodeLink, regexp.MustCompile(`(?i)IBV_WC_RETRY_EXC_ERR|status=12 opcode.* vendor err 129|local catastrophic error`)},
	{CodeNCCL, regexp.MustCompile(`ncclInvalid(Argument|Usage)|NCCL error.*invalid (argument|usage)`)},
	{CodePeer, regexp.MustCompile(`ncclRemoteError|NCCL.*remote process exited`)},
}

var xidText = regexp.MustCompile(`(?i)\bXid\b[^0-9\n]{0,4}(?:\(PCI:[^)]*\))?[: ]{0,3}(\d{1,3})\b`)

// codeOfText reads a text's signs of a broken device, "" if there is none.
func codeOfText(text string) Code {
	if text == "" {
		return ""
	}
	if m := xidText.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && xid.NeedsRepair(n) {
			return Code(fmt.Sprintf("xid-%d", n))
		}
	}
	for i := range signs {
		if signs[i].is.MatchString(text) {
			return signs[i].code
		}
	}
	return ""
}

// ioExit is what a job ends with whose output could not be opened, 0:53: the path is the job's own.
const ioExit = 53

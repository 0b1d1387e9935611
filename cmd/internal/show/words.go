package show

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/slurm/wire"
)

// Env is a variable of env, "" if it is not set.
func Env(env []string, name string) string {
	value := ""
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// StateNames are all state names in lower case with commas, as the commands list them.
func StateNames() string {
	names := make([]string, len(wire.StateNames))
	for i, s := range wire.StateNames {
		names[i] = strings.ToLower(s.Long)
	}
	return strings.Join(names, ",")
}

// ExitCode is the status and the signal of an end: "1:0".
func ExitCode(e wire.ExitCode) string {
	return fmt.Sprintf("%d:%d", e.ReturnCode.Value(), e.Signal.ID.Value())
}

// LongState is the long name of a state given by its long or compact name, in any case; "" if there is none.
func LongState(name string) string { return wire.LongState(name) }

// CompactState is the two-letter name of a long one.
func CompactState(long string) string { return wire.CompactState(long) }

// State is the one word for a job_state list: a flag such as COMPLETING goes before the base state,
// as in squeue.
func State(list wire.Strings) string { return wire.ShownState(list) }

// Ended reports whether nothing of a job in this state is left.
func Ended(list wire.Strings) bool {
	switch wire.BaseState(list) {
	case wire.StatePending, wire.StateRunning, wire.StateSuspended:
		return false
	}
	return !list.Has(wire.FlagCompleting)
}

// Tasks are the tasks of "2-5,7,10-20:5%3" or "[2-5]"; none of what cannot be read.
func Tasks(text string) federation.TaskSet {
	a, err := federation.ReadArray(strings.Trim(text, "[]"))
	if err != nil || a.Len() > federation.MaxArrayIndex+1 {
		return federation.TaskSet{}
	}
	return a.Set()
}

// Ranges are the same one by one, in rising order.
func Ranges(text string) []int {
	s := Tasks(text)
	return slices.Collect(s.All())
}

// List splits at commas and leaves out what is empty.
func List(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' })
}

// OrNull is text, or what Slurm prints for a string that is not set.
func OrNull(text string) string { return orText(text, "(null)") }

// Memory writes MiB as Slurm does, in the largest unit that needs no more than one half of it:
// 100M, 4G, 62.50G, 8000M.
func Memory(mib int64) string {
	const units = "MGTP"
	n, unit := float64(mib), 0
	for unit < len(units)-1 && n >= 1024 && n == float64(int64(n)) && int64(n)%512 == 0 {
		n /= 1024
		unit++
	}
	if n == float64(int64(n)) {
		return strconv.FormatInt(int64(n), 10) + units[unit:unit+1]
	}
	return strconv.FormatFloat(n, 'f', 2, 64) + units[unit:unit+1]
}

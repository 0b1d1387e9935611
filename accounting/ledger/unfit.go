package ledger

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"fsub/accounting"
)

// longestRun is 20 years in seconds: what claims to have run for longer has a wrong time.
const longestRun = 20 * 366 * day

// Unfit says why e cannot be booked: its times or what it held cannot be true, and would spoil sums; "": it can.
func (e *Entry) Unfit() string {
	tres, err := accounting.ParseTRES(e.TRES)
	switch {
	case err != nil:
		return err.Error()
	case e.Elapsed() > longestRun:
		return fmt.Sprintf("it ran for %d days", e.Elapsed()/day)
	}
	for name, n := range tres {
		if n < 0 || n > 0 && e.Elapsed() > math.MaxInt64/100/n { // a hundred such runs can be added up
			return fmt.Sprintf("it held %s=%d for %d seconds", name, n, e.Elapsed())
		}
	}
	return ""
}

// Readable are the items of a TRES text that can be read.
func Readable(text string) (string, accounting.TRES) {
	all := accounting.TRES{}
	for item := range strings.SplitSeq(text, ",") {
		if one, err := accounting.ParseTRES(item); err == nil {
			maps.Copy(all, one)
		}
	}
	return all.String(), all
}

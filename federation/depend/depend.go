// Package depend reads the value of --dependency.
package depend

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
)

// Kind is the type of one term of --dependency, in Slurm's words.
type Kind string

const (
	After      Kind = "after"            // has started
	AfterAny   Kind = "afterany"         // has ended
	AfterOK    Kind = "afterok"          // has ended with exit code 0
	AfterNotOK Kind = "afternotok"       // has ended otherwise
	AfterCorr  Kind = "aftercorr"        // task N of an array: task N of the other has ended with exit code 0
	AfterBB    Kind = "afterburstbuffer" // has ended, its burst buffer included: what ends is told to us after that
	Singleton  Kind = "singleton"        // all earlier jobs of the same name and user have ended
)

// Dependency is a parsed --dependency: all of its terms must be met, or any one of them.
type Dependency struct {
	Any   bool
	Terms []Term
}

// Term is one condition. Task is -1 for the whole job. Delay counts from the start of the job (after:J+minutes).
type Term struct {
	Kind  Kind
	Job   federation.JobID
	Task  int
	Delay time.Duration
}

// Parse reads an --dependency value: "afterok:100:101,after:102+5", with "?" between terms for any of them, "J"
// alone for afterany. What is said twice is there once. It fails with ErrInvalid.
func Parse(s string) (Dependency, error) {
	var d Dependency
	sep := ","
	if strings.Contains(s, "?") {
		if strings.Contains(s, ",") {
			return d, fmt.Errorf("%w: dependency %q mixes ',' and '?'", federation.ErrInvalid, s)
		}
		sep, d.Any = "?", true
	}
	for item := range strings.SplitSeq(s, sep) {
		terms, err := parseDependItem(item)
		if err != nil {
			return d, fmt.Errorf("dependency %q: %w", s, err)
		}
		d.Terms = append(d.Terms, terms...)
	}
	seen := make(map[Term]bool, len(d.Terms))
	d.Terms = slices.DeleteFunc(d.Terms, func(t Term) bool {
		again := seen[t]
		seen[t] = true
		return again
	})
	return d, nil
}

func parseDependItem(item string) ([]Term, error) {
	kindText, ids, found := strings.Cut(item, ":")
	kind := Kind(strings.ToLower(kindText))
	switch kind {
	case Singleton:
		if found {
			return nil, fmt.Errorf("%w: singleton takes no job", federation.ErrInvalid)
		}
		return []Term{{Kind: kind, Task: -1}}, nil
	case After, AfterAny, AfterOK, AfterNotOK, AfterCorr, AfterBB:
	default:
		if found {
			return nil, fmt.Errorf("%w: unknown dependency type %q", federation.ErrInvalid, kindText)
		}
		kind, ids = AfterAny, item
	}
	var out []Term
	for id := range strings.SplitSeq(ids, ":") {
		t, err := parseDependJob(kind, id)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func parseDependJob(kind Kind, s string) (Term, error) {
	t := Term{Kind: kind, Task: -1}
	bad := func() (Term, error) { return t, fmt.Errorf("%w: invalid job ID %q", federation.ErrInvalid, s) }
	id, minutes, delayed := strings.Cut(s, "+")
	if delayed {
		m, err := strconv.ParseUint(minutes, 10, 31)
		if err != nil || kind != After {
			return bad()
		}
		t.Delay = time.Duration(m) * time.Minute
	}
	id, task, isTask := strings.Cut(id, "_")
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil || n == 0 {
		return bad()
	}
	t.Job = federation.JobID(n)
	if isTask && task != "*" {
		i, err := strconv.ParseUint(task, 10, 31)
		if err != nil {
			return bad()
		}
		t.Task = int(i)
	}
	return t, nil
}

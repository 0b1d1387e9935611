package federation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DependKind is the type of one term of --dependency, in Slurm's words.
type DependKind string

const (
	DependAfter      DependKind = "after"            // has started
	DependAfterAny   DependKind = "afterany"         // has ended
	DependAfterOK    DependKind = "afterok"          // has ended with exit code 0
	DependAfterNotOK DependKind = "afternotok"       // has ended otherwise
	DependAfterCorr  DependKind = "aftercorr"        // task N of an array: task N of the other has ended with exit code 0
	DependAfterBB    DependKind = "afterburstbuffer" // has ended, its burst buffer included: what ends is told to us after that
	DependSingleton  DependKind = "singleton"        // all earlier jobs of the same name and user have ended
)

// Dependency is a parsed --dependency: all of its terms must be met, or any one of them.
type Dependency struct {
	Any   bool
	Terms []DependTerm
}

// DependTerm is one condition. Task is -1 for the whole job. Delay counts from the start of the job (after:J+minutes).
type DependTerm struct {
	Kind  DependKind
	Job   JobID
	Task  int
	Delay time.Duration
}

// ParseDependency reads an --dependency value: "afterok:100:101,after:102+5", with "?" between terms for any of them, "J"
// alone for afterany. What is said twice is there once. It fails with ErrInvalid.
func ParseDependency(s string) (Dependency, error) {
	var d Dependency
	sep := ","
	if strings.Contains(s, "?") {
		if strings.Contains(s, ",") {
			return d, fmt.Errorf("%w: dependency %q mixes ',' and '?'", ErrInvalid, s)
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
	seen := make(map[DependTerm]bool, len(d.Terms))
	d.Terms = slices.DeleteFunc(d.Terms, func(t DependTerm) bool {
		again := seen[t]
		seen[t] = true
		return again
	})
	return d, nil
}

func parseDependItem(item string) ([]DependTerm, error) {
	kindText, ids, found := strings.Cut(item, ":")
	kind := DependKind(strings.ToLower(kindText))
	switch kind {
	case DependSingleton:
		if found {
			return nil, fmt.Errorf("%w: singleton takes no job", ErrInvalid)
		}
		return []DependTerm{{Kind: kind, Task: -1}}, nil
	case DependAfter, DependAfterAny, DependAfterOK, DependAfterNotOK, DependAfterCorr, DependAfterBB:
	default:
		if found {
			return nil, fmt.Errorf("%w: unknown dependency type %q", ErrInvalid, kindText)
		}
		kind, ids = DependAfterAny, item
	}
	var out []DependTerm
	for id := range strings.SplitSeq(ids, ":") {
		t, err := parseDependJob(kind, id)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func parseDependJob(kind DependKind, s string) (DependTerm, error) {
	t := DependTerm{Kind: kind, Task: -1}
	bad := func() (DependTerm, error) { return t, fmt.Errorf("%w: invalid job ID %q", ErrInvalid, s) }
	id, minutes, delayed := strings.Cut(s, "+")
	if delayed {
		m, err := strconv.ParseUint(minutes, 10, 31)
		if err != nil || kind != DependAfter {
			return bad()
		}
		t.Delay = time.Duration(m) * time.Minute
	}
	id, task, isTask := strings.Cut(id, "_")
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil || n == 0 {
		return bad()
	}
	t.Job = JobID(n)
	if isTask && task != "*" {
		i, err := strconv.ParseUint(task, 10, 31)
		if err != nil {
			return bad()
		}
		t.Task = int(i)
	}
	return t, nil
}

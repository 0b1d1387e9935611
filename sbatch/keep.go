package sbatch

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mostKept is the maximum number of paths of --keep.
const mostKept = 32

// addKeep takes PATH,PATH...
func addKeep(f *Fed, v string) (why string) {
	list := slices.Clone(f.Keep)
	for name := range strings.SplitSeq(v, ",") {
		if name = strings.TrimSpace(name); name != "" {
			name = path.Clean(name)
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	if why := invalidKeep(list); why != "" {
		return why
	}
	f.Keep = list
	return ""
}

// keptEvery is how often a job that keeps something, and does not say when it writes checkpoints, is taken to have written one.
const keptEvery = 30 * time.Minute

// KeptEvery is how often there is something new of what a job keeps.
func (f *Fed) KeptEvery() time.Duration {
	if f == nil || f.Checkpoint <= 0 {
		return keptEvery
	}
	return f.Checkpoint
}

// InvalidKeep says what is wrong with the paths of --keep; "": nothing.
func (f *Fed) InvalidKeep() string {
	if f == nil {
		return ""
	}
	return invalidKeep(f.Keep)
}

func invalidKeep(list []string) (why string) {
	if len(list) > mostKept {
		return "want at most " + strconv.Itoa(mostKept) + " paths: name a directory"
	}
	for _, name := range list {
		got := ", got " + strconv.Quote(name)
		switch c := path.Clean(name); {
		case name == "":
			return "want paths below the working directory, separated by commas, such as checkpoints,state/model.pt; one is empty"
		case path.IsAbs(name):
			return "want a path below the working directory, without a slash in front" + got
		case c == ".." || strings.HasPrefix(c, "../"):
			return "want a path below the working directory, without .." + got
		case strings.ContainsAny(name, "*?["):
			return "want a file or a directory, not a pattern: name the directory" + got
		case strings.ContainsAny(name, "\x00\n\r"):
			return "want a path without line breaks" + got
		}
	}
	return ""
}

// Keeps are the paths below the working directory that outlive a run; nil: none.
func (s *Spec) Keeps() []string {
	if s == nil || s.Fed == nil {
		return nil
	}
	return s.Fed.Keep
}

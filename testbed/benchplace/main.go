// Program benchplace measures the planner and writes the tables of docs/planner.md, each with its date and commit: speed, topology, and a public trace
// replayed. What takes long or needs much memory, or a trace that is not there, is left as it was, and said.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// section is one table of the page.
type section struct {
	name string
	make func() (string, error)
}

// errSkipped: a section stays as it is.
var errSkipped = errors.New("left as it was")

var (
	atOnce int  // replays that are made at the same time
	small  bool // shows only that every section can be made: short traces, benchmarks with -short
)

var pictures string // folder

var sections = []section{
	{"speed", changes},
	{"large", large},
	{"rounds", rounds},
	{"growth", func() (string, error) { return speed("Growth", "3x", growthNames) }},
	{"gangs", gangs},
	{"topology", func() (string, error) { return speed("Racks|Preempt", "3x", topologyNames) }},
	{"philly", func() (string, error) { return philly(pictures) }},
	{"accounts", accountFigures},
	{"clouds", func() (string, error) { return clouds(pictures) }},
	{"local", localStreams},
	{"preemption", preemption},
	{"forecasts", forecasts},
}

func main() {
	page := flag.String("page", "docs/planner.md", "the page")
	only := flag.String("only", "", "these sections, with commas: speed, large, rounds, growth, gangs, topology, philly, accounts, clouds, local, preemption, forecasts. Not set: all")
	flag.StringVar(&pictures, "pictures", "docs/pictures", "folder of the pictures")
	flag.IntVar(&atOnce, "at-once", runtime.NumCPU(), "so many replays at once")
	flag.Parse()
	runtime.GOMAXPROCS(max(atOnce, runtime.NumCPU()))
	wanted := strings.Split(*only, ",")
	of := commit() // the page may be committed, and others' work too, while the last tables are made
	failed := false
	for _, s := range sections {
		if *only != "" && !slices.Contains(wanted, s.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s ...\n", s.name)
		stamp := stampLine(of)
		text, err := s.make()
		if err == nil {
			err = replace(*page, s.name, stamp+"\n\n"+text)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", s.name, err)
			failed = failed || !errors.Is(err, errSkipped)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// replace puts a text between the marks of a section of the page.
func replace(page, name, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := fmt.Sprintf("<!-- %s -->\n", name), fmt.Sprintf("<!-- end of %s -->\n", name)
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		return fmt.Errorf("%s has no section %s", page, name)
	}
	return os.WriteFile(page, []byte(before+begin+text+end+after), 0o644)
}

// commit names what is measured.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "?"
	}
	return string(bytes.TrimSpace(out))
}

// stampLine says when, of what and on what a table is made.
func stampLine(commit string) string {
	return fmt.Sprintf("%s, commit %s, %d CPUs (%s), load before %s.", time.Now().UTC().Format(time.DateOnly), commit, runtime.NumCPU(), runtime.GOARCH, load())
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

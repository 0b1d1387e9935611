package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is one line of `go test -json`: see `go doc test2json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of a package that did not build
	Test        string
	Output      string
	Elapsed     float64 // seconds
	FailedBuild string
}

// testName is one test of one package; test is empty for what the package says outside of its tests.
type testName struct{ pkg, test string }

// report collects the events.
type report struct {
	out, log io.Writer
	begun    time.Time

	said         map[testName][]string // by tests that have not ended
	running      map[string][]string   // by package: tests that have begun and not ended
	failedWithin map[testName]bool     // packages, and tests with subtests
	failures     []failure
	skips        []skip
	passed       int // packages
	failed       int
	tests        int
	skipCount    map[string]int // by package
	words        []string       // lines that are not JSON: go test's own troubles
	passedTests  map[string]bool
	ended        map[string]bool // packages that failed and still came to the end of their tests
	flakes       []flake
	times        []packageTime
	exit         error // of go test
}

// failure is a test that failed, or a package (test is empty) that failed without one.
type failure struct {
	pkg, test, title, words string
	said                    []string // see firstAndLast
}

// packageTime is how long the tests of a package took.
type packageTime struct {
	pkg     string
	seconds float64
}

// skip is a test that was left out, and why.
type skip struct{ pkg, test, reason string }

func newReport(out, log io.Writer) *report {
	return &report{out: out, log: log, begun: time.Now(), said: map[testName][]string{}, running: map[string][]string{},
		failedWithin: map[testName]bool{}, skipCount: map[string]int{}, passedTests: map[string]bool{}, ended: map[string]bool{}}
}

func (r *report) read(in io.Reader) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) == nil {
			r.add(e)
		} else if strings.TrimSpace(line) != "" {
			fmt.Fprint(r.log, line)
			r.words = append(r.words, line)
		}
		if err != nil {
			return
		}
	}
}

func (r *report) add(e event) {
	name := testName{e.Package, e.Test}
	switch e.Action {
	case "output":
		fmt.Fprint(r.log, e.Output)
		r.said[name] = append(r.said[name], e.Output)
	case "build-output":
		fmt.Fprint(r.log, e.Output)
		build := testName{pkg: e.ImportPath}
		r.said[build] = append(r.said[build], e.Output)
	case "run":
		r.running[e.Package] = append(r.running[e.Package], e.Test)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(e, name)
		}
	}
}

func (r *report) endTest(e event, name testName) {
	r.tests++
	r.running[e.Package] = slices.DeleteFunc(r.running[e.Package], func(test string) bool { return test == e.Test })
	if e.Action == "fail" {
		r.failedWithin[testName{pkg: e.Package}] = true
		for outer := e.Test; strings.Contains(outer, "/"); {
			outer = outer[:strings.LastIndexByte(outer, '/')]
			r.failedWithin[testName{e.Package, outer}] = true
		}
	}
	switch e.Action {
	case "pass":
		r.passedTests[e.Test] = true
	case "fail":
		if r.failedWithin[name] && lastLines(r.said[name]) == "" {
			break // its subtests have said it all
		}
		r.fail(e.Package, e.Test, fmt.Sprintf("%s (%.1f s)", e.Test, e.Elapsed), r.said[name])
	case "skip":
		r.skipCount[e.Package]++
		r.skips = append(r.skips, skip{e.Package, e.Test, reason(r.said[name])})
	}
	delete(r.said, name)
}

// endPackage says how a package ended. One that failed without a failed test has not built, or has died in a test.
func (r *report) endPackage(e event) {
	said := r.said[testName{pkg: e.Package}]
	note := ""
	if n := r.skipCount[e.Package]; n > 0 {
		note = fmt.Sprintf(", %d skipped", n)
	}
	if strings.Contains(strings.Join(said, ""), "(cached)") {
		note += ", cached"
	}
	if e.Action != "skip" {
		r.times = append(r.times, packageTime{e.Package, e.Elapsed})
	}
	switch e.Action {
	case "pass":
		r.passed++
		fmt.Fprintf(r.out, "ok    %7.1f s  %s%s\n", e.Elapsed, short(e.Package), note)
	case "fail":
		r.failed++
		fmt.Fprintf(r.out, "FAIL  %7.1f s  %s%s\n", e.Elapsed, short(e.Package), note)
		for _, test := range r.running[e.Package] {
			r.fail(e.Package, test, test+" (did not end)", r.said[testName{e.Package, test}])
		}
		if build := r.said[testName{pkg: e.FailedBuild}]; e.FailedBuild != "" {
			said = build
		}
		if !r.failedWithin[testName{pkg: e.Package}] {
			r.fail(e.Package, "", "", said)
		}
		// The testing package says so last. It does not come to that when a test panics, exits or runs out of time.
		r.ended[e.Package] = len(r.running[e.Package]) == 0 && slices.Contains(r.said[testName{pkg: e.Package}], "FAIL\n")
		r.showFailures(e.Package)
	}
	for name := range r.said {
		if name.pkg == e.Package {
			delete(r.said, name)
		}
	}
}

func (r *report) fail(pkg, test, title string, said []string) {
	r.failures = append(r.failures, failure{pkg, test, strings.TrimSpace(short(pkg) + " " + title), lastLines(said), firstAndLast(said)})
}

// showFailures shows at once how a package failed: who watches, or sees only a part of all this, need not wait for the end.
func (r *report) showFailures(pkg string) {
	const most = 12
	shown := 0
	for _, f := range r.failures {
		if f.pkg != pkg {
			continue
		}
		if shown++; shown > most {
			fmt.Fprint(r.out, "  and more\n")
			return
		}
		fmt.Fprintf(r.out, "  %s\n", f.title)
		lines := strings.SplitAfter(f.words, "\n")
		for _, line := range lines[max(0, len(lines)-most-1):] {
			if line != "" {
				fmt.Fprint(r.out, "  "+line)
			}
		}
	}
}

// showSkips shows what was left out, a line for each reason of a package.
func (r *report) showSkips() {
	type why struct{ pkg, reason string }
	tests := map[why][]string{}
	var order []why
	for _, s := range r.skips {
		w := why{s.pkg, s.reason}
		if tests[w] == nil {
			order = append(order, w)
		}
		tests[w] = append(tests[w], s.test)
	}
	fmt.Fprintf(r.out, "\nSKIPPED %d:\n", len(r.skips))
	for _, w := range order {
		names := tests[w]
		if more := len(names) - 1; more > 0 {
			names[0] += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(r.out, "  %s %s: %s\n", short(w.pkg), names[0], w.reason)
	}
}

// showSlowest shows the packages whose tests took longest.
func (r *report) showSlowest() {
	const most = 10
	slices.SortStableFunc(r.times, func(a, b packageTime) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprint(r.out, "\nSLOWEST:\n")
	for _, t := range r.times[:min(most, len(r.times))] {
		fmt.Fprintf(r.out, "  %7.1f s  %s\n", t.seconds, short(t.pkg))
	}
}

// finish writes what was skipped, what failed and what took long, and the verdict, which it returns.
func (r *report) finish() bool {
	if len(r.skips) > 0 {
		r.showSkips()
	}
	r.showFlakes()
	for _, f := range r.failures {
		fmt.Fprintf(r.out, "\nFAILED %s\n%s", f.title, f.words)
	}
	if len(r.words) > 0 {
		fmt.Fprintf(r.out, "\ngo test said:\n%s", lastLines(r.words))
	}
	if len(r.times) > 0 {
		r.showSlowest()
	}
	r.showReasons()
	took := time.Since(r.begun).Round(time.Second)
	switch {
	case len(r.flakes) > mostFlaky:
		fmt.Fprintf(r.out, "\nTESTS FAILED: %d tests are flaky, more than %d\n", len(r.flakes), mostFlaky)
		return false
	case r.failed == 0 && r.passed > 0 && r.cutShort():
		fmt.Fprintf(r.out, "\nTESTS FAILED: go test did not come to its end: %v\n", r.exit)
		return false
	case r.failed > 0 || r.passed == 0:
		fmt.Fprintf(r.out, "\nTESTS FAILED in %d of %d packages, after %v\n", r.failed, r.passed+r.failed, took)
		return false
	}
	fmt.Fprintf(r.out, "\nALL TESTS PASSED: %d tests of %d packages, %d skipped, in %v\n", r.tests-len(r.skips), r.passed, len(r.skips), took)
	fmt.Fprintf(r.out, "%d passed, 0 failed, %d skipped\n", r.tests-len(r.skips), len(r.skips))
	return true
}

// place begins what a test says by Log, Error or Fatal.
var place = regexp.MustCompile(`^\s*\w+\.go:\d+: `)

// showReasons shows of each failure, those of flaky tests too, the first and the last that its test said: who sees only the end of all this sees why.
func (r *report) showReasons() {
	const width, most = 300, 20
	all := slices.Clone(r.failures)
	for _, f := range r.flakes {
		all = append(all, f.failures...)
	}
	for i, f := range all {
		if i == 0 {
			fmt.Fprint(r.out, "\nWHY:\n")
		}
		if i == most {
			fmt.Fprintf(r.out, "  and %d more\n", len(all)-i)
			return
		}
		fmt.Fprintf(r.out, "  %s\n", f.title)
		for _, line := range f.said {
			if len(line) > width {
				line = strings.ToValidUTF8(line[:width], "") + " ..."
			}
			fmt.Fprintf(r.out, "    %s\n", line)
		}
	}
}

// firstAndLast returns of what a test has said by Log, Error and Fatal the first two and the last two, each with its next line where it has more.
func firstAndLast(said []string) (all []string) {
	lines := strings.Split(strings.Join(said, ""), "\n")
	for i, line := range lines {
		if !place.MatchString(line) {
			continue
		}
		if i+1 < len(lines) && !place.MatchString(lines[i+1]) && !isChatter(lines[i+1]) {
			line += " / " + strings.TrimSpace(lines[i+1])
		}
		all = append(all, strings.TrimSpace(line))
	}
	if len(all) > 4 {
		all = slices.Concat(all[:2], all[len(all)-2:])
	}
	return all
}

// cutShort is true if go test failed otherwise than by a test that was seen to fail.
func (r *report) cutShort() bool {
	if r.exit == nil {
		return false
	}
	var exited *exec.ExitError
	return len(r.flakes) == 0 || !errors.As(r.exit, &exited) || exited.ExitCode() != 1
}

// Of one failed test the last lines are shown, and of a line its beginning. All is in the log.
const maxLines, maxLine = 60, 400

func lastLines(said []string) string {
	var kept []string
	for _, line := range strings.Split(strings.Join(said, ""), "\n") {
		if isChatter(line) {
			continue
		}
		if len(line) > maxLine {
			line = strings.ToValidUTF8(line[:maxLine], "") + " ..."
		}
		kept = append(kept, "    "+line+"\n")
	}
	if cut := len(kept) - maxLines; cut > 0 {
		kept = append([]string{fmt.Sprintf("    ... %d lines before\n", cut)}, kept[cut:]...)
	}
	return strings.Join(kept, "")
}

// isChatter is true of what go test says of every test.
func isChatter(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- FAIL: ") || strings.HasPrefix(line, "--- SKIP: ")
}

// reason is what a skipped test said last before it ended.
func reason(said []string) string {
	for i := len(said) - 1; i >= 0; i-- {
		if !isChatter(said[i]) {
			return strings.TrimSpace(said[i])
		}
	}
	return "no reason given"
}

func short(pkg string) string { return strings.TrimPrefix(pkg, "fsub/") }

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

const (
	mostFlaky = 3  // flaky tests that do not fail a run
	mostAgain = 10 // where more tests than these fail, none is run again: that is not bad luck
)

// command is a go test -json with all of its arguments but the packages.
type command []string

// run runs the tests of packages, has read read what they say, and returns how go test exited.
func (c command) run(packages []string, read func(io.Reader), args ...string) error {
	cmd := exec.Command(c[0], append(append(c[1:len(c):len(c)], args...), packages...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	read(out)
	return cmd.Wait()
}

// alone returns a function that runs one test of a package by itself and reports whether it passes, and else what failed. What it says goes to log.
func (c command) alone(log io.Writer) func(pkg, test string) (bool, []failure) {
	return func(pkg, test string) (passed bool, why []failure) {
		err := c.run([]string{pkg}, func(out io.Reader) { passed, why = passes(out, log, test) }, "-count=1", "-run=^"+test+"$")
		return passed && err == nil, why
	}
}

// passes reads what go test -json says and reports whether test passed, and else what failed. It did not pass if it was skipped, or not run at all.
func passes(out io.Reader, log io.Writer, test string) (bool, []failure) {
	r := newReport(io.Discard, log)
	r.read(out)
	return r.failed == 0 && r.passed == 1 && r.passedTests[test], r.failures
}

// flake is a test that failed, and then passed twice alone.
type flake struct {
	title, words string
	failures     []failure
}

// runAgain runs each failed test twice more, by alone, and takes those that pass both times for flaky. A test of a package that was
// not built, or that did not come to the end of its tests (a panic, a timeout, an exit), is not run again.
func (r *report) runAgain(alone func(pkg, test string) (bool, []failure)) {
	suspects := r.suspects()
	switch n := len(suspects); {
	case n == 0:
		return
	case n > mostAgain:
		fmt.Fprintf(r.out, "\n%d tests failed: too many to run them again\n", n)
		return
	}
	for _, s := range suspects {
		fmt.Fprintf(r.out, "\nagain, alone and twice: %s %s\n", short(s.pkg), s.test)
		if passed, why := twice(alone, s); !passed {
			fmt.Fprint(r.out, "  it failed again\n")
			for _, f := range why {
				f.title += ", again"
				r.failures = append(r.failures, f)
			}
			continue
		}
		fmt.Fprint(r.out, "  it passed both times: FLAKY\n")
		r.excuse(s)
	}
}

func twice(alone func(pkg, test string) (bool, []failure), s testName) (passed bool, why []failure) {
	if passed, why = alone(s.pkg, s.test); !passed {
		return false, why
	}
	return alone(s.pkg, s.test)
}

// suspects returns the failed tests, without their subtests, of packages that came to the end of their tests.
func (r *report) suspects() []testName {
	var suspects []testName
	seen := map[testName]bool{}
	for _, f := range r.failures {
		s := testName{f.pkg, topLevel(f.test)}
		if f.test != "" && r.ended[f.pkg] && !seen[s] {
			seen[s] = true
			suspects = append(suspects, s)
		}
	}
	return suspects
}

// excuse makes a flake of a test's failures. A package without any other has passed.
func (r *report) excuse(s testName) {
	flaky := flake{title: short(s.pkg) + " " + s.test}
	var left []failure
	others := false
	for _, f := range r.failures {
		if f.pkg == s.pkg && topLevel(f.test) == s.test {
			flaky.words += fmt.Sprintf("  %s\n%s", f.title, f.words)
			f.title += ", flaky"
			flaky.failures = append(flaky.failures, f)
			continue
		}
		left = append(left, f)
		others = others || f.pkg == s.pkg
	}
	r.failures = left
	r.flakes = append(r.flakes, flaky)
	if !others {
		r.failed--
		r.passed++
	}
}

// showFlakes shows what each flaky test said when it failed.
func (r *report) showFlakes() {
	for _, f := range r.flakes {
		fmt.Fprintf(r.out, "\nFLAKY %s: it failed, and then passed twice alone. When it failed:\n%s", f.title, f.words)
	}
	if n := len(r.flakes); n > 0 {
		fmt.Fprintf(r.out, "\n%s\n  %d FLAKY: find out why (up to %d do not fail a run)\n%s\n",
			strings.Repeat("!", 80), n, mostFlaky, strings.Repeat("!", 80))
	}
}

func topLevel(test string) string {
	name, _, _ := strings.Cut(test, "/")
	return name
}

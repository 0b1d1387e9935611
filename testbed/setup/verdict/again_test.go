package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recorded returns what go test -json once said.
func recorded(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOnlyTestsOfWholeRunsAreRunAgain(t *testing.T) {
	var out strings.Builder
	r := newReport(&out, io.Discard)
	r.read(strings.NewReader(recorded(t, "every-failure.json")))
	var asked []string
	r.runAgain(func(pkg, test string) (bool, []failure) {
		asked = append(asked, pkg+" "+test)
		return test == "TestFlaky", []failure{{title: "flaky TestWrong", said: []string{"w_test.go:7: wrong again"}}}
	})
	// Not those of the packages broken, dies, late, main4 and panics.
	if want := []string{"fsub/flaky TestFlaky", "fsub/flaky TestFlaky", "fsub/flaky TestWrong"}; !slices.Equal(asked, want) {
		t.Errorf("ran again: %q, want %q", asked, want)
	}
	if r.finish() {
		t.Error("the run did not fail")
	}
	for _, want := range []string{
		"\nFLAKY flaky TestFlaky: it failed", "got 2, want 1", "raw words of two", "1 FLAKY: find out why", "\n  flaky TestFlaky/one (0.0 s), flaky\n    ",
		"\nFAILED flaky TestWrong", "\nFAILED broken\n", "FAILED panics TestPanic", "FAILED dies TestExit (did not end)",
		"FAILED late TestSlow (did not end)", "FAILED main4\n",
		"\n  flaky TestWrong, again\n    w_test.go:7: wrong again\n", "\nTESTS FAILED in 6 of 7 packages",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

func TestFlakyTestsPassUpToThree(t *testing.T) {
	one := recorded(t, "flaky.json")
	in := func(n int) string {
		var all strings.Builder
		for i := range n {
			all.WriteString(strings.ReplaceAll(one, "fsub/flaky", "fsub/flaky"+string(rune('a'+i))))
		}
		return all.String()
	}
	for _, c := range []struct {
		name  string
		tests int
		runs  []bool // of the first test: how it ends when it is run again
		ok    bool
		want  string
	}{
		{"passes both times", 1, []bool{true, true}, true, "\nALL TESTS PASSED: 5 tests of 2 packages, 1 skipped, in "},
		{"fails at once", 1, []bool{false}, false, "\nTESTS FAILED in 1 of 2 packages"},
		{"fails the second time", 1, []bool{true, false}, false, "\nTESTS FAILED in 1 of 2 packages"},
		{"three", 3, []bool{true, true}, true, "\n  3 FLAKY: find out why"},
		{"a fourth", 4, []bool{true, true}, false, "\nTESTS FAILED: 4 tests are flaky, more than 3\n"},
		{"very many", 11, nil, false, "\n11 tests failed: too many to run them again\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out, io.Discard)
			r.exit = exitOf(t, "exit 1")
			text := in(c.tests)
			if c.tests > 1 { // the package that passes is there once
				text = strings.ReplaceAll(text, "fsub/ok", "fsub/flakya/ok")
			}
			r.read(strings.NewReader(text))
			runs := 0
			r.runAgain(func(pkg, test string) (bool, []failure) {
				if runs++; runs <= len(c.runs) {
					return c.runs[runs-1], nil
				}
				return true, nil
			})
			if ok := r.finish(); ok != c.ok {
				t.Errorf("verdict %v, want %v", ok, c.ok)
			}
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("no %q in:\n%s", c.want, out.String())
			}
			if c.ok && !strings.HasSuffix(out.String(), " passed, 0 failed, "+map[int]string{1: "1", 3: "3"}[c.tests]+" skipped\n") {
				t.Errorf("the last line is another:\n%s", out.String())
			}
		})
	}
}

// exitOf returns how a command ends.
func exitOf(t *testing.T, script string) error {
	t.Helper()
	return exec.Command("sh", "-c", script).Run()
}

func TestAloneATestHasToRunAndPass(t *testing.T) {
	for file, want := range map[string]bool{"passes.json": true, "fails.json": false, "none.json": false} {
		if got, _ := passes(strings.NewReader(recorded(t, file)), io.Discard, "TestFlaky"); got != want {
			t.Errorf("%s: passes %v, want %v", file, got, want)
		}
	}
	if passed, _ := passes(strings.NewReader(recorded(t, "skipped.json")), io.Discard, "TestLeftOut"); passed {
		t.Error("a skipped test passed")
	}
}

// A go test that says nothing wrong and exits with an error was cut short, also where a flaky test explains an ordinary failure.
func TestGoTestCutShort(t *testing.T) {
	for _, c := range []struct {
		in   string
		exit error
		ok   bool
	}{
		{recorded(t, "passes.json"), nil, true},
		{recorded(t, "passes.json"), exitOf(t, "exit 1"), false},
		{recorded(t, "flaky.json"), exitOf(t, "exit 1"), true},
		{recorded(t, "flaky.json"), exitOf(t, "kill -9 $$"), false},
		{recorded(t, "flaky.json"), errors.New("no such program"), false},
	} {
		r := newReport(io.Discard, io.Discard)
		r.exit = c.exit
		r.read(strings.NewReader(c.in))
		r.runAgain(func(string, string) (bool, []failure) { return true, nil })
		if ok := r.finish(); ok != c.ok {
			t.Errorf("%v: verdict %v, want %v", c.exit, ok, c.ok)
		}
	}
}

// The command is go test's with further arguments; alone it names one test and one package.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	fake := filepath.Join(dir, "go")
	script := "#!/bin/sh\necho \"$*\" >>" + dir + "/calls\ncat " + filepath.Join(mustWd(t), "testdata") + "/$VERDICT_SAYS\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c := command{fake, "test", "-json", "-p", "3"}
	t.Setenv("VERDICT_SAYS", "passes.json")
	var out strings.Builder
	r := newReport(&out, io.Discard)
	r.exit = c.run([]string{"./a", "./b"}, r.read)
	if r.exit != nil || r.passed != 1 {
		t.Errorf("%v, %d packages passed", r.exit, r.passed)
	}
	var log strings.Builder
	if passed, _ := c.alone(&log)("fsub/flaky", "TestFlaky"); !passed || !strings.Contains(log.String(), "raw words of one") {
		t.Errorf("it did not pass, or the log lacks its words: %s", log.String())
	}
	calls, err := os.ReadFile(dir + "/calls")
	if want := "test -json -p 3 ./a ./b\ntest -json -p 3 -count=1 -run=^TestFlaky$ fsub/flaky\n"; err != nil || string(calls) != want {
		t.Errorf("calls %q, want %q", calls, want)
	}
	if err := (command{filepath.Join(dir, "none")}).run(nil, r.read); err == nil {
		t.Error("a program that is not there was run")
	}
}

func mustWd(t *testing.T) string {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return wd
}

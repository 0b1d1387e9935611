package main

import (
	"strings"
	"testing"
)

// events is what go test -json writes for one test: it says something and ends.
func events(pkg, test, words, end string) string {
	return `{"Action":"run","Package":"fsub/` + pkg + `","Test":"` + test + `"}
{"Action":"output","Package":"fsub/` + pkg + `","Test":"` + test + `","Output":"=== RUN   ` + test + `\n"}
{"Action":"output","Package":"fsub/` + pkg + `","Test":"` + test + `","Output":"    x_test.go:7: ` + words + `\n"}
` + end
}

func endOf(pkg, test, action string) string {
	return `{"Action":"` + action + `","Package":"fsub/` + pkg + `","Test":"` + test + `","Elapsed":0.5}` + "\n"
}

func endOfPackage(pkg, action string) string {
	return `{"Action":"` + action + `","Package":"fsub/` + pkg + `","Elapsed":1.5}` + "\n"
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name, in string
		ok       bool
		want     []string
		wantNot  []string
	}{
		{"all is well", events("a", "TestA", "chatter", endOf("a", "TestA", "pass")) + endOfPackage("a", "pass") + endOfPackage("b", "skip"),
			true, []string{"ok        1.5 s  a\n", "\nSLOWEST:\n      1.5 s  a\n", "ALL TESTS PASSED: 1 tests of 1 packages, 0 skipped"}, []string{"chatter", "FAIL"}},
		{"a skipped test shows its reason", events("a", "TestA", "no GPU here", endOf("a", "TestA", "skip")) + endOfPackage("a", "pass"),
			true, []string{"a, 1 skipped\n", "SKIPPED 1:\n  a TestA: x_test.go:7: no GPU here\n", "0 tests of 1 packages, 1 skipped"}, nil},
		{"skipped tests of one reason share a line", events("a", "TestA", "no GPU here", endOf("a", "TestA", "skip")) +
			events("a", "TestB", "no GPU here", endOf("a", "TestB", "skip")) + endOfPackage("a", "pass"),
			true, []string{"a, 2 skipped\n", "SKIPPED 2:\n  a TestA and 1 more: x_test.go:7: no GPU here\n"}, []string{"TestB"}},
		{"a failed test shows its words below its package and after all packages", events("a", "TestA", "got 2, want 1", endOf("a", "TestA", "fail")) +
			endOfPackage("a", "fail") + endOfPackage("b", "pass"),
			false, []string{"FAIL      1.5 s  a\n  a TestA (0.5 s)\n          x_test.go:7: got 2, want 1\nok ", "b\n\nFAILED a TestA (0.5 s)\n        x_test.go:7: got 2, want 1\n", "TESTS FAILED in 1 of 2 packages"}, []string{"=== RUN"}},
		{"a test with a failed subtest says nothing twice", events("a", "TestA", "half way", "") + events("a", "TestA/one", "got 2", endOf("a", "TestA/one", "fail")) +
			`{"Action":"run","Package":"fsub/a","Test":"TestC"}` + "\n" +
			events("a", "TestC/one", "got 3", endOf("a", "TestC/one", "fail")) + endOf("a", "TestC", "fail") + endOf("a", "TestA", "fail") + endOfPackage("a", "fail"),
			false, []string{"FAILED a TestA/one", "FAILED a TestC/one", "FAILED a TestA (0.5 s)\n        x_test.go:7: half way\n"}, []string{"FAILED a TestC (", "FAILED a\n"}},
		{"a package that dies shows the test that was running", events("a", "TestA", "half way", "") + endOfPackage("a", "fail"),
			false, []string{"FAILED a TestA (did not end)\n        x_test.go:7: half way\n"}, nil},
		{"a package that does not build shows the compiler's words",
			`{"ImportPath":"fsub/a [fsub/a.test]","Action":"build-output","Output":"./a_test.go:3:1: undefined: x\n"}` + "\n" +
				`{"Action":"fail","Package":"fsub/a","Elapsed":0,"FailedBuild":"fsub/a [fsub/a.test]"}` + "\n",
			false, []string{"undefined: x"}, nil},
		{"nothing tested is no success", "", false, []string{"TESTS FAILED in 0 of 0 packages"}, nil},
		{"go test's own words are kept", "no Go files in /\n", false, []string{"no Go files"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, log strings.Builder
			r := newReport(&out, &log)
			r.read(strings.NewReader(c.in))
			if ok := r.finish(); ok != c.ok {
				t.Errorf("verdict %v, want %v", ok, c.ok)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in:\n%s", want, out.String())
				}
			}
			for _, not := range c.wantNot {
				if strings.Contains(out.String(), not) {
					t.Errorf("%q is in:\n%s", not, out.String())
				}
			}
			if words := "x_test.go:7"; strings.Contains(c.in, words) && !strings.Contains(log.String(), words) {
				t.Errorf("the log lacks what the test said:\n%s", log.String())
			}
		})
	}
}

func TestLongOutputIsCut(t *testing.T) {
	got := lastLines(strings.SplitAfter(strings.Repeat("line\n", 100), "\n"))
	if n := strings.Count(got, "line\n"); n != maxLines || !strings.HasPrefix(got, "    ... 40 lines before\n") {
		t.Errorf("%d lines: %s", n, got)
	}
}

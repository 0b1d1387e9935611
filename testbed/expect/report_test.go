package main

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	const skipped = "[2026-11-21 22:07:51.805] Warning This test will not work here (skip@globals:467,test1.40:36,test1.40:35)\n====\nSKIPPED             : test1.40\n====\n"
	const failed = "spawn sbatch\nFAILURE to do something\n[2026-11-21 22:09:12.544] Fatal   srun time limit not found (fail@globals:431,test1.61:82,test1.61:81)\r\n====\nFAILURE             : test1.61\n"
	for text, want := range map[string]result{
		"====\nSUCCESS             : test17.4\n====\n": {verdict: "SUCCESS"},
		"x Warning y\nSUCCESS             : test1.1\n": {verdict: "SUCCESS"},
		skipped:                           {verdict: "SKIPPED", why: "This test will not work here"},
		failed:                            {verdict: "FAILURE", why: "srun time limit not found"},
		"spawn sbatch\n":                  {verdict: "UNFINISHED"},
		"SUCCESS is near\nspawn sbatch\n": {verdict: "UNFINISHED"},
	} {
		if got := judge(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// TestReport: what passes with Slurm's commands must pass with ours, or have a reason; a reason that nothing needs is an error too.
func TestReport(t *testing.T) {
	ok, bad, skip := result{verdict: "SUCCESS"}, result{verdict: "FAILURE", why: "no"}, result{verdict: "SKIPPED"}
	for _, c := range []struct {
		real, ours result
		reason     string
		fails      bool
	}{
		{ok, ok, "", false}, {ok, bad, "", true}, {ok, skip, "", true}, {ok, bad, "because", false}, {ok, ok, "because", true},
		{bad, bad, "", false}, {skip, skip, "", false}, {skip, bad, "", false}, {skip, ok, "", false},
	} {
		tab := table{sides: []string{"real", "ours"}, tests: []test{{"test1.1", user}}, results: [][]result{{c.real}, {c.ours}}, reasons: map[string]string{}}
		if c.reason != "" {
			tab.reasons["test1.1"] = c.reason
		}
		var out strings.Builder
		if err := report(&out, tab); (err != nil) != c.fails {
			t.Errorf("%+v: %v", c, err)
		}
		if !strings.Contains(out.String(), c.reason) || !strings.Contains(out.String(), "test1.1  "+c.real.verdict) {
			t.Errorf("%+v:\n%s", c, out.String())
		}
	}
}

// TestLists: every exception is of a test that is run, and has a reason.
func TestLists(t *testing.T) {
	reasons, err := parseExceptions(exceptions)
	if err != nil {
		t.Fatal(err)
	}
	for name := range reasons {
		found := false
		for _, x := range pick(tests, nil) {
			found = found || x.name == name
		}
		if !found {
			t.Errorf("%s is not in tests.txt", name)
		}
	}
	if got := pick("a\nb root\n\n", []string{"b", "c"}); len(got) != 2 || got[0] != (test{"b", "root"}) || got[1] != (test{"c", user}) {
		t.Errorf("%v", got)
	}
	if _, err := parseExceptions("# x\n\ntest1.1\n"); err == nil {
		t.Error("an exception without a reason")
	}
}

package crash

import (
	"regexp"
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	t.Setenv("GOTRACEBACK", "")
	marked := ""
	defer func(old func(string)) { Mark = old }(Mark)
	Mark = func(s string) { marked = s }
	var said strings.Builder
	text := "x"
	if exit := Guard("squeue", &said, func() int { return len(text[len(text)+len(said.String())+1:]) }); exit != 1 {
		t.Errorf("exit code %d", exit)
	}
	want := regexp.MustCompile(`^squeue: fatal: a fault of fsub, please report it: runtime error: slice bounds out of range \[2:1\] at .*crash_test.go:\d+\n$`)
	if !want.MatchString(said.String()) || marked != said.String() {
		t.Errorf("it said %q, and marked %q", &said, marked)
	}
	if exit := Guard("squeue", &said, func() int { return 3 }); exit != 3 {
		t.Errorf("exit code %d of a command without a fault", exit)
	}
}

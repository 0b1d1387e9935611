package elsewhere

import (
	"regexp"
	"time"
)

// user wants what a user's command prints to match.
func (w *world) user(uid int, what, pattern string, args ...string) {
	w.t.Helper()
	if out, err := w.run(uid, nil, args...); err != nil || !regexp.MustCompile(pattern).MatchString(out) {
		w.t.Fatalf("%s: %q: %v, printed %q, want %s", what, args, err, out, pattern)
	}
}

// await repeats al's command until it prints want.
func (w *world) await(want string, args ...string) {
	w.t.Helper()
	var out string
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if out, err = w.run(al, nil, args...); err == nil && out == want {
			return
		}
	}
	w.t.Fatalf("%q: %v, printed %q, want %q", args, err, out, want)
}

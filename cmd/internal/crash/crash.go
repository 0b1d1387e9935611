// Package crash keeps a fault in a command from showing as a goroutine's stack: the user reads one
// sentence, and the command exits with 1.
package crash

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// Mark is called with the sentence before it is printed. Tests set it, to fail.
var Mark = func(sentence string) {}

// Guard runs the command called name and returns its exit code. A panic becomes a sentence on
// stderr and exit code 1; where the environment has GOTRACEBACK, the stack follows. It cannot catch
// the panic of a goroutine that run starts.
func Guard(name string, stderr io.Writer, run func() int) (exit int) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		exit = 1
		sentence := fmt.Sprintf("%s: fatal: a fault of fsub, please report it: %v at %s\n", name, fault, place())
		Mark(sentence)
		io.WriteString(stderr, sentence)
		if os.Getenv("GOTRACEBACK") != "" {
			stack := make([]byte, 1<<16)
			stderr.Write(stack[:runtime.Stack(stack, false)])
		}
	}()
	return run()
}

// place is the file and line of ours that panicked. It is called while the panic unwinds.
func place() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for panicked := false; ; {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicked = true
		case panicked && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		case !more:
			return "an unknown place"
		}
	}
}

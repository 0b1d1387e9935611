package hold

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// Word is what a command line has before the folder, when it is to call [Main].
const Word = "hold"

// reportMark begins the line that the holder prints.
const reportMark = "fsub-holder "

// report is what the holder tells.
type report struct {
	PID    int      `json:"pid"`
	Began  string   `json:"began"` // tells it from a later process of the same number
	Env    []string `json:"env"`
	Dir    string   `json:"dir"`
	Failed string   `json:"failed,omitempty"`
}

// Main is the holder: a process that does nothing within the container. It changes to dir if one is
// given, identifies itself, and waits until its standard input ends; without one, forever.
func Main(dir string) int {
	for s := syscall.Signal(1); s < 32; s++ {
		if s != syscall.SIGKILL && s != syscall.SIGSTOP && s != syscall.SIGURG && s != syscall.SIGPROF && s != syscall.SIGCHLD {
			signal.Ignore(s) // signals to all of a step are the tasks'
		}
	}
	r := report{PID: os.Getpid(), Began: began(os.Getpid()), Env: os.Environ()}
	if dir != "" {
		if err := os.Chdir(dir); err != nil {
			r.Failed = "couldn't chdir to " + dir + ": " + reason(err)
		}
	}
	r.Dir, _ = os.Getwd()
	text, err := json.Marshal(r)
	if err != nil {
		return 1
	}
	fmt.Printf("%s%s\n", reportMark, text)
	if r.Failed != "" {
		return 1
	}
	os.Stdout.Close()
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		io.Copy(io.Discard, os.Stdin)
		return 0
	}
	for { // the runtime takes a program that waits for nothing for a mistake
		syscall.Pause()
	}
}

func reason(err error) string {
	if e, ok := err.(*os.PathError); ok {
		err = e.Err
	}
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// began is when a process began, in the kernel's ticks; "" if there is none.
func began(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The name between the parentheses may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

// note leaves word of a container that has a name, for later steps.
func (s *Spec) note(r *report) error {
	if s.Options.Name == "" {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(s.path(s.name()+".running"), text, 0o600)
}

// find looks for the container that the name means: the holder of one that runs is returned, nil if
// there is none; and refuses what the options forbid.
func (s *Spec) find() (*report, error) {
	o := s.Options
	if o.Name == "" {
		return nil, nil
	}
	var r *report
	if text, err := os.ReadFile(s.path(s.name() + ".running")); err == nil {
		var found report
		if json.Unmarshal(text, &found) == nil && found.PID > 0 && found.Began != "" && began(found.PID) == found.Began {
			r = &found
		}
	}
	there := exists(s.rootfs())
	switch {
	case o.Reuse == "create" && there:
		return nil, fmt.Errorf(`error: "create" flag was passed to --container-name but the container already exists`)
	case o.Reuse == "exec" && r == nil:
		return nil, fmt.Errorf(`error: "exec" flag was passed to --container-name but the container is not running`)
	case o.Reuse == "no_exec":
		return nil, s.needsImage(there)
	case r != nil:
		return r, nil
	}
	return nil, s.needsImage(there)
}

func (s *Spec) needsImage(there bool) error {
	if !there && s.Options.Image == "" {
		return fmt.Errorf(`error: a container with name "%s" does not exist, and --container-image is not set`, s.name())
	}
	return nil
}

package hold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// BatchWord is what a command line has before a file and the script's own command line, when it is
// to call [Batch].
const BatchWord = "batch-container"

// Batch becomes the batch script of a job, within the container that file describes: a
// [container.Want] in JSON. It returns only if it cannot, with the exit code. The process stays the
// same one, so that signals and exit code are the script's; nsenter (util-linux) enters the
// namespaces, for a Go program has threads and cannot.
func Batch(file string, argv []string) int {
	if err := becomeScript(file, argv); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintln(os.Stderr, "slurmstepd: error: pyxis: "+line)
		}
	}
	return 1
}

func becomeScript(file string, argv []string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s Spec
	if err := json.Unmarshal(text, &s.Want); err != nil {
		return err
	}
	if s.Refused != "" {
		return errors.New(s.Refused)
	}
	s.Env = os.Environ()
	s.Dir, _ = os.Getwd()
	s.Say = func(line string) { fmt.Fprintln(os.Stderr, line) }
	nsenter := s.program("nsenter")
	if nsenter == "" {
		return fmt.Errorf("this machine has no nsenter, which a batch script in a container needs: install util-linux")
	}
	h, err := Start(context.Background(), &s)
	if err != nil {
		return err
	}
	files, err := h.Namespaces()
	if err != nil {
		return err
	}
	defer Close(files)
	command := append(h.nsenter(files), argv...)
	return fmt.Errorf("execve(): %s: %w", nsenter, unix.Exec(nsenter, command, h.Environ(s.Env)))
}

// nsenter is the command line by which it enters what Namespaces has found.
func (h *Held) nsenter(files []*os.File) []string {
	words := map[string]string{"user": "--user", "cgroup": "--cgroup", "ipc": "--ipc", "uts": "--uts", "net": "--net", "mnt": "--mount"}
	argv := []string{"nsenter", "--target", strconv.Itoa(h.PID), "--preserve-credentials", "--wd"}
	for _, f := range files {
		if w := words[filepath.Base(f.Name())]; w != "" && !slices.Contains(argv, w) {
			argv = append(argv, w)
		}
	}
	return append(argv, "--")
}

package lan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// recordFile has the interfaces that forward for the machines' sake, one a line: whoever flushes
// the tables while no daemon runs takes the guard's list away, and the next daemon would believe
// that they have always forwarded. It is one file for each network namespace, since daemons of
// several may share /run; like forwarding itself it does not outlive the machine's next boot.
func recordFile() (string, error) {
	info, err := os.Stat("/proc/thread-self/ns/net")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("/run/fsub-lan.forwarding-%d", info.Sys().(*syscall.Stat_t).Ino), nil
}

// recorded are the interfaces of the record, sorted.
func recorded() ([]string, error) {
	file, err := recordFile()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	links := strings.Fields(string(text)) // names of interfaces have no spaces
	slices.Sort(links)
	return links, err
}

// record writes the record; none: it removes it.
func record(links []string) error {
	file, err := recordFile()
	if err != nil {
		return err
	}
	if len(links) == 0 {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	temp := file + ".new"
	if err := os.WriteFile(temp, []byte(strings.Join(links, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, file)
}

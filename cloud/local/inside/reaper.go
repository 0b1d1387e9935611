package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Files of a provider's directory.
const (
	OwnersFile = "owners" // held, shared, by every provider of the directory as long as it lives
	// The names are those of earlier versions, whose reapers may still run.
	ReaperFile    = "ward"         // held by the reaper
	CommandFile   = "ward.command" // what the reaper runs: a list in JSON
	ReaperLogFile = "ward.log"
	MachinesDir   = "machines"
)

// reaperPatience is how often the reaper tries to clear away what machines have left.
const reaperPatience = 20

// Reap waits until no provider of dir lives, and no machine of it, and then runs a command that
// clears away what they have left on the host: a daemon that never comes back does not do it. It
// returns at once if dir has a reaper, or is gone. The command is the CommandFile's at that time:
// the last daemon's, whose program may be elsewhere than the first's. It fails as long as there is
// a reason to wait.
func Reap(dir string) error {
	if held, err := hold(filepath.Join(dir, ReaperFile)); err != nil || held == nil {
		return err
	} else {
		defer held.Close()
	}
	for failed := 0; ; time.Sleep(time.Second) {
		if err := awaitOwners(dir); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		if Populated(dir) {
			continue
		}
		err := runCommand(dir)
		if err == nil {
			return nil
		}
		if failed++; failed == reaperPatience {
			return err
		}
	}
}

// runCommand runs what the CommandFile says.
func runCommand(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, CommandFile))
	if err != nil {
		return err
	}
	var command []string
	if err := json.Unmarshal(text, &command); err != nil {
		return fmt.Errorf("%s: %w", CommandFile, err)
	}
	if len(command) == 0 {
		return fmt.Errorf("%s has no command", CommandFile)
	}
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
	}
	return nil
}

// hold locks a file for this process alone; nil: another process has it. A provider that looks for
// a reaper holds it for a moment.
func hold(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	for range 50 {
		if err == nil {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return f, err
		}
		time.Sleep(10 * time.Millisecond)
		err = nil
	}
	f.Close()
	return nil, nil
}

// awaitOwners waits until no provider lives. One that begins just now does not wait for us for long.
func awaitOwners(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, OwnersFile), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_, err = os.Stat(filepath.Join(dir, OwnersFile)) // somebody may have removed all of it meanwhile
	return err
}

// Populated reports whether a machine of a provider's directory lives, or may live: a state that
// cannot be read counts as living.
func Populated(dir string) bool {
	entries, err := os.ReadDir(filepath.Join(dir, MachinesDir))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() && mayLive(filepath.Join(dir, MachinesDir, e.Name()))
	})
}

// mayLive reports whether the machine of a directory lives, or cannot be known not to.
func mayLive(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, ProcessFile))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) // it has not begun
	}
	p, err := ParseProcess(strings.TrimSpace(string(text)))
	return err != nil || p.Alive()
}

package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"fsub/cloud/agentapi"
)

// makeUser makes a job's user and groups known to the machine, which is the agent's alone: nobody else's user can be meant by the name or the number.
func makeUser(u agentapi.User) error { return makeUserIn("/etc", u) }

// noHome is the home of users that are to have none (Debian's nobody); it is never to be there.
const noHome = "/nonexistent"

// etcMutex: several runs of a user may begin at once.
var etcMutex sync.Mutex

func makeUserIn(etc string, u agentapi.User) error {
	etcMutex.Lock()
	defer etcMutex.Unlock()
	if u.Name == "" || strings.ContainsAny(u.Name+u.Group+u.Home+u.Shell, ":\n\x00") {
		return fmt.Errorf("%q is not a user that /etc/passwd can hold", u.Name)
	}
	if u.UID == 0 {
		return nil
	}
	group, home, shell := u.Group, u.Home, u.Shell
	if group == "" {
		group = u.Name
	}
	if home == "" {
		home = "/home/" + u.Name
	}
	if shell == "" {
		shell = "/bin/sh"
	}
	lines := []string{fmt.Sprintf("%s:x:%d:", group, u.GID)}
	for _, g := range u.Groups {
		if g != u.GID && g != 0 {
			lines = append(lines, fmt.Sprintf("g%d:x:%d:%s", g, g, u.Name))
		}
	}
	err := errors.Join(
		prepend(filepath.Join(etc, "group"), lines, 2),
		prepend(filepath.Join(etc, "passwd"), []string{fmt.Sprintf("%s:x:%d:%d:%s:%s:%s", u.Name, u.UID, u.GID, u.Name, home, shell)}, 2))
	if err != nil {
		return err
	}
	if _, err := os.Stat(home); err == nil || !errors.Is(err, os.ErrNotExist) || home == noHome {
		return nil // somebody's, a network's
	}
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	return os.Chown(home, int(u.UID), int(u.GID))
}

// prepend puts lines of a file like /etc/passwd before its others, where they count, unless the file says the same by name and number already. key is
// the field of the number.
func prepend(path string, lines []string, key int) error {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var missing []string
	for _, line := range lines {
		if !known(string(text), line, key) {
			missing = append(missing, line)
		}
	}
	if missing == nil {
		return nil
	}
	temp := path + ".fsub"
	if err := os.WriteFile(temp, []byte(strings.Join(missing, "\n")+"\n"+string(text)), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// known reports whether the first line with the name or the number of line has both. A group's number that has any name at all is known.
func known(text, line string, key int) bool {
	want := strings.Split(line, ":")
	for have := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(have), ":")
		if len(f) <= key || f[0] != want[0] && f[key] != want[key] {
			continue
		}
		return f[key] == want[key] && (f[0] == want[0] || len(want) == 4)
	}
	return false
}

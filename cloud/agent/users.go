package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"fsub/cloud/agentapi"
)

// noHome is the home of users that are to have none (Debian's nobody); it is never to be there.
const noHome = "/nonexistent"

// etcMutex: several runs of a user may begin at once.
var etcMutex sync.Mutex

// makeUser makes a job's user and groups known by the passwd and group of etc. On a machine that is
// alone it makes a home that is missing, too; else the files are mounted, and stay what they are.
// An account of the system itself is nobody's to have: then it fails, and changes nothing.
func makeUser(etc string, u agentapi.User, alone bool) error {
	etcMutex.Lock()
	defer etcMutex.Unlock()
	if u.Name == "" || strings.ContainsAny(u.Name+u.Group+u.Home+u.Shell, ":\n\x00") {
		return fmt.Errorf("%q is not a user that /etc/passwd can hold", u.Name)
	}
	if err := clash(filepath.Join(etc, "passwd"), u, alone); err != nil || u.UID == 0 {
		return err
	}
	group, home, shell := u.Group, u.Home, u.Shell
	if group == "" {
		group = u.Name
	}
	if alone {
		var err error
		if group, err = ownName(etc, group, u.GID); err != nil {
			return err
		}
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
			lines = append(lines, fmt.Sprintf("%s:x:%d:%s", madeUp(g), g, u.Name))
		}
	}
	write := lengthen
	if alone {
		write = replace
	}
	err := errors.Join(
		prepend(filepath.Join(etc, "group"), lines, 2, write),
		prepend(filepath.Join(etc, "passwd"), []string{fmt.Sprintf("%s:x:%d:%d:%s:%s:%s", u.Name, u.UID, u.GID, u.Name, home, shell)}, 2, write))
	if err != nil {
		return err
	}
	if !alone {
		return nil
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

// firstUser is the number below which accounts are the system's and the same everywhere.
const firstUser = 100

// cure is what an operator does about a user whom a machine cannot have.
const cure = "map the user to another with the site's users"

// clash refuses a user whose name or number belongs to a system account: the account's programs
// would run as the user, or the user's jobs as the account. Where the agent has the machine to
// itself, all accounts that makeUser did not make are the image's, and none of their names is
// allowed: the image may let them become root.
func clash(passwd string, u agentapi.User, alone bool) error {
	const system = 1000 // numbers below are those of systems' accounts
	text, err := os.ReadFile(passwd)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for line := range strings.Lines("root:x:0:\n" + string(text)) {
		f := strings.Split(line, ":")
		if len(f) < 4 {
			continue
		}
		uid, err := strconv.ParseUint(f[2], 10, 32)
		if err != nil {
			continue
		}
		switch sameName, sameID := f[0] == u.Name, uint32(uid) == u.UID; {
		case sameName && !sameID && uid < system:
			return fmt.Errorf("%s has user ID %d on this machine, as an account of its system, and is to have %d: %s", u.Name, uid, u.UID, cure)
		case sameName && !sameID && alone && !(len(f) > 4 && f[4] == f[0]):
			return fmt.Errorf("%s has user ID %d on this machine, as an account of its image, and is to have %d: %s", u.Name, uid, u.UID, cure)
		case sameID && !sameName && uid < firstUser:
			return fmt.Errorf("user ID %d is %s's on this machine, an account of its system: %s", uid, f[0], cure)
		}
	}
	return nil
}

// prepend puts lines of a file like /etc/passwd before its others, where they count, unless the
// file says the same by name and number already. key is the field of the number.
func prepend(path string, lines []string, key int, write func(path, text string) error) error {
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
	return write(path, strings.Join(missing, "\n")+"\n"+string(text))
}

// lengthen writes a file that gets longer in one write, so that nobody reads it empty.
func lengthen(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), 0)
	return errors.Join(err, f.Close())
}

// replace writes a file whole or not at all.
func replace(path, text string) error {
	temp := path + ".fsub"
	if err := os.WriteFile(temp, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// known reports whether the first line with the name or the number of line has both. A group's
// number that has any name at all is known.
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

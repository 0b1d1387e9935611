// Package secret says whether a file with a secret is one: whether others may read it, or could have put it there. [Check] is all there is. Every file of
// credentials that the configuration names passes it, whatever they are for.
package secret

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Check refuses a file that is missing, that is no regular file, that others may read or write, or that belongs to an ordinary user other than the one who asks.
// One of a service's own, such as SlurmUser's key, may belong to that.
func Check(path string) error {
	st, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return fmt.Errorf("%s does not exist", path)
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	case st.Mode().Perm()&0o077 != 0 && !credential(path, st):
		return fmt.Errorf("%s may be read by others (mode %04o); run: chmod 600 %s", path, st.Mode().Perm(), path)
	}
	if s, ok := st.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() && ordinary(s.Uid) {
		return fmt.Errorf("%s belongs to %s, who may read and change it; run: chown %d %s", path, name(s.Uid), os.Geteuid(), path)
	}
	return nil
}

// credentials is where systemd puts what LoadCredential= names, in a directory that only root and the service can enter.
const credentials = "/run/credentials/"

// credential reports whether a file was put there by systemd, and is for a service's user only: that is an entry of its access control list, whose mask shows as
// the group's bits of the mode.
func credential(path string, st os.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && strings.HasPrefix(filepath.Clean(path), credentials) && s.Uid == 0 && s.Gid == 0 && st.Mode().Perm()&0o037 == 0
}

// ordinary reports whether a uid is a person's: system users are below 1000, and from 60000 to the last that 16 bits have.
func ordinary(uid uint32) bool { return uid >= 1000 && (uid < 60000 || uid > 65535) }

func name(uid uint32) string {
	text := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(text); err == nil {
		return u.Username
	}
	return "uid " + text
}

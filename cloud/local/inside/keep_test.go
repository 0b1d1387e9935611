package inside

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestKeepsTheOthers: what cannot be mounted in /etc, for the host has a link to nothing there or for another reason, keeps the rest from nothing.
func TestKeepsTheOthers(t *testing.T) {
	dir, etc := t.TempDir(), t.TempDir()
	spec := Spec{Hosts: true, Resolv: true, Users: true}
	text, err := json.Marshal(spec)
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, SpecFile), text, 0o600), os.Mkdir(filepath.Join(dir, HostsFile), 0o700), os.Symlink("/nonexistent", filepath.Join(etc, "resolv.conf")))
	for _, file := range []string{filepath.Join(etc, "hosts"), filepath.Join(etc, "passwd"), filepath.Join(etc, "group"),
		filepath.Join(dir, ResolvFile), filepath.Join(dir, PasswdFile), filepath.Join(dir, GroupFile)} {
		err = errors.Join(err, os.WriteFile(file, nil, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, keep := range map[string]func() (told []error, err error){
		"at first": func() ([]error, error) {
			err := spec.mountEtc(dir)
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("of the link to nothing it says nothing: %v", err)
			}
			return []error{err}, nil
		},
		"later": func() (told []error, err error) {
			ctx, cancel := context.WithCancel(t.Context())
			err = Keep(ctx, dir, func(err error) { told = append(told, err); cancel() })
			return told, err
		},
	} {
		told, err := inOwnEtc(t, etc, func() ([]error, error) {
			told, err := keep()
			for _, m := range spec.etc()[3:] {
				if !sameFile(filepath.Join(dir, m.file), m.at) {
					t.Errorf("%s: %s is not the machine's", name, m.at)
				}
			}
			return told, err
		})
		if err != nil || len(told) != 1 || !errors.Is(told[0], unix.ENOTDIR) || !strings.Contains(told[0].Error(), "/etc/hosts") {
			t.Errorf("%s: it told of %v, and returned %v", name, told, err)
		}
	}
}

// inOwnEtc does something where etc is /etc, and nobody else sees it so.
func inOwnEtc(t *testing.T, etc string, f func() ([]error, error)) (told []error, err error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends, and its mounts with it
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = unix.Mount(etc, "/etc", "", unix.MS_BIND, "")
		}
		done <- err
		if err == nil {
			told, err = f()
			done <- err
		}
	}()
	if err := <-done; err != nil {
		t.Skipf("SKIPPED: mount namespaces cannot be made here: %v", err)
	}
	err = <-done // and then told is
	return told, err
}

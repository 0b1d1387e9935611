package agent

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fsub/cloud/agentapi"
)

// The first jobs of a user on a machine begin at the same moment.
func TestMakeUserAtOnce(t *testing.T) {
	etc, home := t.TempDir(), t.TempDir()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			u := agentapi.User{Name: fmt.Sprintf("user%d", i%4), UID: uint32(7001 + i%4), GID: uint32(7001 + i%4), Home: home}
			if err := makeUser(etc, u, true); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(filepath.Join(etc, "passwd"))
	if err != nil || strings.Count(string(text), "\n") != 4 {
		t.Errorf("%v %q", err, text)
	}
}

// Nobody becomes an account of the machine's system; everybody else is who he is to be, whatever the image says of the name or the number.
func TestUsersOfTheSystem(t *testing.T) {
	const passwd = "root:x:0:0::/root:/bin/sh\nwww-data:x:33:33::/:/bin/false\nsshd:x:107:65534::/:/bin/false\nubuntu:x:1000:1000::/home/ubuntu:/bin/sh\n"
	for want, users := range map[string][]agentapi.User{
		"": {{Name: "alice", UID: 5000, GID: 5000}, {Name: "ubuntu", UID: 5000, GID: 5000}, {Name: "alice", UID: 1000, GID: 1000}, {Name: "alice", UID: 107, GID: 107},
			{Name: "www-data", UID: 33, GID: 33}, {Name: "root"}},
		"as an account of its system, and is to have 5000": {{Name: "sshd", UID: 5000}, {Name: "root", UID: 5000}, {Name: "www-data", UID: 5000}},
		"an account of its system":                         {{Name: "alice", UID: 33}, {Name: "alice"}},
	} {
		for _, u := range users {
			etc := t.TempDir()
			u.Home = etc
			if err := os.WriteFile(filepath.Join(etc, "passwd"), []byte(passwd), 0o644); err != nil {
				t.Fatal(err)
			}
			err := makeUser(etc, u, true)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: error %v, want %q", u, err, want)
			}
			text, readErr := os.ReadFile(filepath.Join(etc, "passwd"))
			if readErr != nil || err != nil && string(text) != passwd {
				t.Errorf("%+v: passwd became %q", u, text)
			}
			if err == nil && !strings.Contains(string(text), fmt.Sprintf("%s:x:%d:%d:", u.Name, u.UID, u.GID)) {
				t.Errorf("%+v is not in %q", u, text)
			}
		}
	}
}

// Files that are mounted elsewhere are written, not replaced, and homes are not made where the machine is not alone.
func TestMakeUserInMounts(t *testing.T) {
	etc := t.TempDir()
	at := filepath.Join(etc, "passwd")
	if err := os.WriteFile(at, []byte("root:x:0:0::/root:/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	mount, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer mount.Close()
	home := filepath.Join(etc, "home")
	if err := makeUser(etc, agentapi.User{Name: "alice", UID: 5000, GID: 5000, Home: home}, false); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(mount); err != nil || !strings.HasPrefix(string(text), "alice:x:5000:5000:") || !strings.HasSuffix(string(text), "\nroot:x:0:0::/root:/bin/sh\n") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Stat(home); err == nil {
		t.Error("a home was made")
	}
}

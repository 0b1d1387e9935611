package agent

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
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

// Nobody becomes an account of the machine's system or takes the name of one of its image; everybody else is who he is to be, whatever the image says of the number.
func TestUsersOfTheSystem(t *testing.T) {
	const passwd = "root:x:0:0::/root:/bin/sh\nwww-data:x:33:33::/:/bin/false\nsshd:x:107:65534::/:/bin/false\nubuntu:x:1000:1000::/home/ubuntu:/bin/sh\nbob:x:6000:6000:bob:/home/bob:/bin/sh\n"
	for want, users := range map[string][]agentapi.User{
		"": {{Name: "alice", UID: 5000, GID: 5000}, {Name: "ubuntu", UID: 1000, GID: 1000}, {Name: "alice", UID: 1000, GID: 1000}, {Name: "alice", UID: 107, GID: 107},
			{Name: "www-data", UID: 33, GID: 33}, {Name: "root"}, {Name: "bob", UID: 6001, GID: 6001}}, // an earlier job's
		"as an account of its system, and is to have 5000: map the user":                                 {{Name: "sshd", UID: 5000}, {Name: "root", UID: 5000}, {Name: "www-data", UID: 5000}},
		"as an account of its image, and is to have 5000: map the user to another with the site's users": {{Name: "ubuntu", UID: 5000, GID: 5000}},
		"an account of its system: map the user":                                                         {{Name: "alice", UID: 33}, {Name: "alice"}},
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

// Groups that are the machine's system's by another name are nobody's; those that are the same, or that the machine does not have, or that an operator has chosen, are as they are.
func TestGroupsOfTheSystem(t *testing.T) {
	const group = "root:x:0:\ndisk:x:6:\nsudo:x:27:ubuntu\nusers:x:100:\ndocker:x:998:\nlab:x:2000:\ng300:x:300:alice\n"
	names := func(names ...string) []string { return names }
	for name, c := range map[string]struct {
		user    agentapi.User
		defs    string
		groups  []uint32 // that stay
		left    int
		err     string
		entries []string
	}{
		"others": {agentapi.User{GID: 5000, Group: "alice", Groups: []uint32{6, 27, 100, 200, 300, 998, 2000}, GroupNames: names("music", "", "users", "film", "art", "docker", "mine")},
			"", []uint32{100, 200, 300, 998, 2000}, 2, "", names("alice:x:5000:", "g200:x:200:alice")},
		"limit":         {agentapi.User{GID: 5000, Group: "alice", Groups: []uint32{998, 6}, GroupNames: names("x", "y")}, "# GID_MIN 7000\nGID_MIN\t\t  500\n", []uint32{998}, 1, "", nil},
		"chosen":        {agentapi.User{GID: 6, Groups: []uint32{27}}, "", []uint32{27}, 0, "", nil},
		"first":         {agentapi.User{GID: 6, Group: "students"}, "", nil, 0, "alice's group students (6) is disk on this machine, a group of its system: map the user to another", nil},
		"first, same":   {agentapi.User{GID: 100, Group: "users"}, "", nil, 0, "", nil},
		"first's name":  {agentapi.User{GID: 5000, Group: "docker"}, "", nil, 0, "", names("g5000:x:5000:")},
		"first's image": {agentapi.User{GID: 2000, Group: "mine"}, "", nil, 0, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			etc := t.TempDir()
			for file, text := range map[string]string{"group": group, "login.defs": c.defs} {
				if err := os.WriteFile(filepath.Join(etc, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			c.user.Name, c.user.UID, c.user.Home = "alice", 5000, etc
			var log strings.Builder
			a := &Agent{log: slog.New(slog.NewTextHandler(&log, nil))}
			for range 2 {
				r := &run{a: a, l: &agentapi.Launch{User: c.user}}
				err := r.makeUserIn(etc)
				if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				if got := r.l.User.Groups; err == nil && !slices.Equal(got, c.groups) {
					t.Errorf("groups %v, want %v", got, c.groups)
				}
			}
			if n := strings.Count(log.String(), "left out"); n != c.left {
				t.Errorf("%d lines, want %d: %s", n, c.left, &log)
			}
			want := group
			if len(c.entries) > 0 {
				want = strings.Join(c.entries, "\n") + "\n" + group
			} else if c.user.GID == 5000 {
				want = "alice:x:5000:\n" + group
			}
			if text, err := os.ReadFile(filepath.Join(etc, "group")); err != nil || string(text) != want {
				t.Errorf("group became %q, want %q", text, want)
			}
		})
	}
}

// Files that are mounted elsewhere are written, not replaced, and homes are not made where the machine is not alone.
func TestMakeUserInMounts(t *testing.T) {
	etc := t.TempDir()
	at := filepath.Join(etc, "passwd")
	if err := os.WriteFile(at, []byte("root:x:0:0::/root:/bin/sh\ncarol:x:6000:6000:Carol:/home/carol:/bin/sh\n"), 0o644); err != nil {
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
	if text, err := io.ReadAll(mount); err != nil || !strings.HasPrefix(string(text), "alice:x:5000:5000:") || !strings.Contains(string(text), "\nroot:x:0:0::/root:/bin/sh\n") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Stat(home); err == nil {
		t.Error("a home was made")
	}
	if err := makeUser(etc, agentapi.User{Name: "carol", UID: 5001, GID: 5001, Home: home}, false); err != nil {
		t.Errorf("the host's own accounts are no image's: %v", err)
	}
}

// TestNobodyOwnsWhatTheImageHas: a user whose number an account of the image has gets another where no file system is shared, the same each time, and is
// refused elsewhere.
func TestNobodyOwnsWhatTheImageHas(t *testing.T) {
	const passwd = "root:x:0:0::/root:/bin/sh\nsshd:x:998:998::/:/bin/false\nec2-user:x:1000:1000:EC2 Default User:/home/ec2-user:/bin/bash\n"
	for _, c := range []struct {
		user     agentapi.User
		uid, gid uint32
	}{
		{agentapi.User{Name: "alice", UID: 1000, GID: 1000}, 1000 + renumbered, 1000 + renumbered},
		{agentapi.User{Name: "alice", UID: 1000, GID: 5000}, 1000 + renumbered, 5000},
		{agentapi.User{Name: "bob", UID: 998, GID: 5000}, 998 + renumbered, 5000},
		{agentapi.User{Name: "carol", UID: 5000, GID: 5000}, 5000, 5000},
		{agentapi.User{Name: "ec2-user", UID: 1000, GID: 1000}, 1000, 1000},
	} {
		for _, stream := range []bool{true, false} {
			etc := t.TempDir()
			if err := os.WriteFile(filepath.Join(etc, "passwd"), []byte(passwd), 0o644); err != nil {
				t.Fatal(err)
			}
			c.user.Home = etc
			for range 2 {
				r := &run{a: &Agent{log: slog.New(slog.DiscardHandler)}, l: &agentapi.Launch{User: c.user, Stream: stream}}
				err := r.makeUserIn(etc)
				if moved := c.uid != c.user.UID; moved && !stream {
					if err == nil || !strings.Contains(err.Error(), "an account of its image") {
						t.Errorf("%+v on a shared file system: %v", c.user, err)
					}
					continue
				}
				if err != nil || r.l.User.UID != c.uid || r.l.User.GID != c.gid {
					t.Errorf("%s (%d:%d) became %d:%d, want %d:%d (%v)", c.user.Name, c.user.UID, c.user.GID, r.l.User.UID, r.l.User.GID, c.uid, c.gid, err)
				}
			}
			text, err := os.ReadFile(filepath.Join(etc, "passwd"))
			if err != nil || strings.Count(string(text), ":x:1000:") > 1 {
				t.Errorf("passwd: %q, %v", text, err)
			}
		}
	}
}

package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"fsub/cloud/agentapi"
)

// User is who a user is at a site: an entry of users, under the user's name here.
//
// At a Slurm cluster name, uid and gid are those of its own user.
//
// On rented machines name alone is another user of this system. With uid and gid the entry is
// complete: jobs of the user run as that name, with these IDs and groups, so that files that they
// make on the cloud's file systems have the right owner. The agent of each machine adds the user
// and the groups there. root cannot be mapped, and nobody can be mapped to root. Users without an
// entry keep their name, IDs and groups.
type User struct {
	// Name at the site.
	Name string `yaml:"name"`
	// User ID at the site.
	UID uint32 `yaml:"uid,omitempty"`
	// Group ID at the site.
	GID uint32 `yaml:"gid,omitempty"`
	// Further group IDs. This and the keys that follow are for rented machines.
	Groups []uint32 `yaml:"groups,omitempty"`
	// Name of the group gid. The user's name if not set.
	Group string `yaml:"group,omitempty"`
	// Home directory; made if it is missing and the machine is the job's alone. /home/NAME if not set.
	Home string `yaml:"home,omitempty"`
	// Login shell. /bin/bash if not set.
	Shell string `yaml:"shell,omitempty"`
}

// checkUsers refuses entries that cannot be, and two that would be one on machines.
func (s *Site) checkUsers() error {
	var mapped []User
	for _, name := range slices.Sorted(maps.Keys(s.Users)) {
		u := s.Users[name]
		if err := u.check(s.Rented()); err != nil {
			return fmt.Errorf("users: %s: %w", name, err)
		}
		for _, o := range mapped {
			if u.UID != 0 && (o.Name == u.Name) != (o.UID == u.UID) {
				return fmt.Errorf("users: %s: %s with uid %d, and another entry has %s with uid %d", name, u.Name, u.UID, o.Name, o.UID)
			}
		}
		if u.UID != 0 {
			mapped = append(mapped, u)
		}
	}
	return nil
}

func (u *User) check(rented bool) error {
	more := len(u.Groups) > 0 || u.Group != "" || u.Home != "" || u.Shell != ""
	switch {
	case u.Name == "":
		return errors.New("name is missing: the user's name at the site")
	case strings.ContainsAny(u.Name+u.Group, ":,/\n\x00 ") || strings.ContainsAny(u.Home+u.Shell, ":\n\x00"):
		return fmt.Errorf("invalid name %q: /etc/passwd cannot hold it", u.Name)
	case !rented && more:
		return errors.New("groups, group, home and shell are for rented machines; a Slurm cluster has its own")
	case !rented:
		return nil
	case u.UID == 0 && (u.GID != 0 || more):
		return errors.New("uid is missing: without it the user is one of this system, with all that he has here")
	case u.UID != 0 && u.GID == 0:
		return errors.New("gid is missing")
	case u.UID != 0 && u.Name == "root", slices.Contains(u.Groups, 0):
		return errors.New("nobody becomes root on rented machines, nor gets its group")
	case u.Home != "" && !strings.HasPrefix(u.Home, "/"), u.Shell != "" && !strings.HasPrefix(u.Shell, "/"):
		return errors.New("home and shell are absolute paths")
	}
	return nil
}

// MappedUsers are the identities of users on rented machines that do not come from this system.
func (s *Site) MappedUsers() (map[string]agentapi.User, error) {
	out := map[string]agentapi.User{}
	for name, u := range s.Users {
		if u.UID == 0 {
			continue
		}
		if euid := os.Geteuid(); s.Here() && euid != 0 && int(u.UID) != euid {
			return nil, fmt.Errorf("users: %s: only root's daemon can run jobs of uid %d on this machine", name, u.UID)
		}
		out[name] = agentapi.User{Name: u.Name, UID: u.UID, GID: u.GID, Group: u.Group, Groups: u.Groups, Home: cmp.Or(u.Home, "/home/"+u.Name), Shell: cmp.Or(u.Shell, "/bin/bash")}
	}
	return out, nil
}

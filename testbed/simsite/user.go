package simsite

import (
	"slices"
	"strconv"
)

// user is somebody whom the site's machines know.
type user struct {
	UserConfig
}

// Caller is who makes a request, after the token was checked.
type Caller struct {
	Name string
	// Privileged: a token of root or SlurmUser, used under its own name. Only that may choose a job ID or submit
	// for another user.
	Privileged bool
}

func (s *Site) buildUsers(cfg *Config) {
	s.users, s.byUID = map[string]*user{}, map[uint32]*user{}
	s.addUser(UserConfig{Name: "root", Admin: "Administrator"})
	s.addUser(UserConfig{Name: cfg.SlurmUser, UID: 64030, GID: 64030, Admin: "Administrator"})
	for _, u := range cfg.Users {
		s.addUser(u)
	}
}

func (s *Site) addUser(u UserConfig) *user {
	def(&u.Admin, "None")
	if u.Name != "root" {
		def(&u.GID, u.UID)
	}
	got := &user{u}
	s.users[u.Name] = got
	s.byUID[u.UID] = got
	return got
}

// userByUID finds a user by number. A site without configured users knows everybody.
func (s *Site) userByUID(uid uint32) *user {
	if u := s.byUID[uid]; u != nil || len(s.cfg.Users) > 0 {
		return u
	}
	return s.addUser(UserConfig{Name: "u" + strconv.FormatUint(uint64(uid), 10), UID: uid, GID: uid})
}

func (s *Site) userByName(name string) *user {
	if u := s.users[name]; u != nil || len(s.cfg.Users) > 0 {
		return u
	}
	return s.addUser(UserConfig{Name: name, UID: uint32(2000 + len(s.users))})
}

// operator reports whether the caller may act on other users' jobs.
func (s *Site) operator(c Caller) bool {
	u := s.users[c.Name]
	return c.Privileged || u != nil && u.Admin != "None"
}

// accountOf picks the account a job is charged to.
func (s *Site) accountOf(u *user, asked string) (string, error) {
	if !s.cfg.EnforceAssociations {
		if asked == "" && len(u.Accounts) > 0 {
			asked = u.Accounts[0]
		}
		return asked, nil
	}
	if len(u.Accounts) == 0 || asked != "" && !slices.Contains(u.Accounts, asked) {
		return "", errAccount
	}
	if asked == "" {
		asked = u.Accounts[0]
	}
	return asked, nil
}

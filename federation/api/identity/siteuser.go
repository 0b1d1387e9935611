package identity

import (
	"fmt"
	"slices"
	"strings"
)

// SiteUsers are the users who are known otherwise at a site, by their names here.
type SiteUsers map[string]SiteUser

// SiteUser is a user at a site.
type SiteUser struct {
	Name string
	UID  uint32 // 0: it is not known
}

// byUID is the name here of a uid of a site: of the user who has it there, or of the one who has it here and is not known otherwise there.
func (s SiteUsers) byUID(site string, uid uint32, names *Names) (string, error) {
	if uid == 0 {
		return "", fmt.Errorf("root of a machine of %s is not root here: call as a user", site)
	}
	what := fmt.Sprintf("uid %d of %s", uid, site)
	if name, err := s.only(what, func(u SiteUser) bool { return u.UID == uid }); name != "" || err != nil {
		return name, err
	}
	name, err := names.UserName(uid)
	if err != nil {
		return "", fmt.Errorf("%s is not a user of the daemon's machine; where uids differ the site's users name them", what)
	}
	if there, otherwise := s[name]; otherwise && there.UID == 0 {
		return "", fmt.Errorf("%s is %s here, who has another name there: the uid is missing in the site's users", what, name)
	} else if otherwise {
		return "", fmt.Errorf("%s is %s here, who is uid %d there", what, name, there.UID)
	}
	return name, nil
}

// byName is byUID for a user's name at a site.
func (s SiteUsers) byName(site, there string) (string, error) {
	what := there + " of " + site
	if name, err := s.only(what, func(u SiteUser) bool { return u.Name == there }); name != "" || err != nil {
		return name, err
	}
	if u, otherwise := s[there]; otherwise {
		return "", fmt.Errorf("%s is not %s here, who is %s there", what, there, u.Name)
	}
	return there, nil
}

// only is the name of the one user who is as is says; "": there is none.
func (s SiteUsers) only(what string, is func(SiteUser) bool) (string, error) {
	var known []string
	for name, there := range s {
		if is(there) {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	switch len(known) {
	case 0:
		return "", nil
	case 1:
		return known[0], nil
	}
	return "", fmt.Errorf("%s is one of several users here: %s", what, strings.Join(known, ", "))
}

// ordinary is a caller whom a site has named: an ordinary user of this machine, and not root.
func (c *Names) ordinary(user, from, is string) (Caller, error) {
	uid, gid, err := c.UserIDs(user)
	switch {
	case err != nil:
		return Caller{}, noCaller(fmt.Sprintf("%s, who is %s, is not a user of the daemon's machine", user, is))
	case uid == 0:
		return Caller{}, noCaller(is + " would be root on the daemon's machine")
	}
	return Caller{Name: user, UID: uid, GID: gid, From: from, Scope: ScopeSubmit}, nil
}

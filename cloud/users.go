package cloud

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
)

// userCache remembers users for a while: a look-up may go to a directory service.
type userCache struct {
	users  Users
	mapped map[string]agentapi.User // who users of the federation are here, by their names there
	now    func() time.Time
	mu     sync.Mutex
	known  map[string]cachedUser
}

type cachedUser struct {
	user agentapi.User
	at   time.Time
}

func (c *userCache) lookup(ctx context.Context, name string) (agentapi.User, error) {
	const fresh = time.Minute
	c.mu.Lock()
	u, ok := c.known[name]
	c.mu.Unlock()
	if ok && c.now().Sub(u.at) < fresh {
		return u.user, nil
	}
	user, err := c.users.Lookup(ctx, name)
	if err != nil {
		return user, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]cachedUser{}
	}
	c.known[name] = cachedUser{user, c.now()}
	return user, nil
}

// identity is who a submission's job runs as on machines: whom its owner is mapped to, or the user of the site's name. Two who are not the same here are not made one there.
func (c *userCache) identity(ctx context.Context, s *federation.Submission) (agentapi.User, error) {
	if u, ok := c.mapped[s.Job.User]; ok {
		return u, nil
	}
	u, err := c.lookup(ctx, s.User.Name)
	if err != nil {
		return u, err
	}
	for _, other := range c.mapped {
		if (other.Name == u.Name || other.UID == u.UID) && (other.Name != u.Name || other.UID != u.UID) {
			return u, fmt.Errorf("%s (uid %d) cannot be told from %s (uid %d), whom another user is mapped to: map this one too: %w", u.Name, u.UID, other.Name, other.UID, federation.ErrDenied)
		}
	}
	return u, nil
}

// systemUsers are the users of this machine.
type systemUsers struct{}

// Lookup implements Users.
func (systemUsers) Lookup(_ context.Context, name string) (agentapi.User, error) {
	u, err := user.Lookup(name)
	if errors.As(err, new(user.UnknownUserError)) {
		return agentapi.User{}, fmt.Errorf("user %s: %w", name, federation.ErrNotFound)
	}
	if err != nil {
		return agentapi.User{}, err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return agentapi.User{}, err
	}
	out := agentapi.User{Name: u.Username, UID: uint32(uid), GID: uint32(gid), Home: u.HomeDir, Shell: shellOf(u.Username)}
	if g, err := user.LookupGroupId(u.Gid); err == nil {
		out.Group = g.Name
	}
	groups, err := u.GroupIds()
	if err != nil {
		return agentapi.User{}, err
	}
	for _, g := range groups {
		if n, err := strconv.ParseUint(g, 10, 32); err == nil && uint32(n) != out.GID {
			name := ""
			if g, err := user.LookupGroupId(g); err == nil {
				name = g.Name
			}
			out.Groups, out.GroupNames = append(out.Groups, uint32(n)), append(out.GroupNames, name)
		}
	}
	return out, nil
}

// shellOf is the login shell, which os/user does not tell.
func shellOf(name string) string {
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return "/bin/sh"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if parts := strings.Split(lines.Text(), ":"); len(parts) == 7 && parts[0] == name && parts[6] != "" {
			return parts[6]
		}
	}
	return "/bin/sh"
}

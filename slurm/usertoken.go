package slurm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"fsub/federation"
)

// forUser stands for a user's name in the arguments of a token_command: it makes a token for each user then, and the federation needs none that is everybody's.
const forUser = "%u"

// EachUser reports whether a token_command makes a token for each user.
func EachUser(command []string) bool {
	for _, arg := range command {
		if strings.Contains(arg, forUser) {
			return true
		}
	}
	return false
}

// userName is what may stand in a command for a user's name. A shell at the site may read it.
var userName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@-]*$`)

// userTokens gives the token of each user, where a command makes them.
type userTokens struct {
	command []string
	mu      sync.Mutex
	by      map[string]*tokens
}

// of returns the tokens of one user of the site.
func (u *userTokens) of(user string) (*tokens, error) {
	if !userName.MatchString(user) {
		return nil, fmt.Errorf("%w: no token can be asked for user %q: want letters, digits, '_', '.', '@' and '-'", federation.ErrDenied, user)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.by[user]
	if t == nil {
		t = &tokens{user: user, command: expand(u.command, user), only: true}
		u.by[user] = t
	}
	return t, nil
}

func expand(command []string, user string) []string {
	out := make([]string, len(command))
	for i, arg := range command {
		out[i] = strings.ReplaceAll(arg, forUser, user)
	}
	return out
}

type ownerKey struct{}

// inNameOf has the calls under the returned context made with the token of a user of the site, where each has one. "": with the reader's, whom Config.User names.
func (c *client) inNameOf(ctx context.Context, user string) context.Context {
	if c.users == nil || user == "" {
		return ctx
	}
	return context.WithValue(ctx, ownerKey{}, user)
}

// onBehalf is inNameOf for the owner of a job, who may be known otherwise at the site.
func (at *site) onBehalf(ctx context.Context, ref federation.JobRef) context.Context {
	user := ref.User
	if there, ok := at.cfg.Users[user]; ok {
		user = there
	}
	return at.c.inNameOf(ctx, user)
}

// seenByReader remarks that the user who reads for all does not see a job which another has just submitted. Its end would be found by asking in its owner's name, and
// nothing else of it. Once a job was seen it is not looked for again.
func (d *Driver) seenByReader(ctx context.Context, id int64) {
	if d.rights.sees.Load() {
		return
	}
	_, err := d.queue.job(context.WithValue(ctx, ownerKey{}, nil), id)
	switch {
	case err == nil:
		d.rights.sees.Store(true)
	case errors.Is(err, federation.ErrNotFound):
		d.remarks.add(fmt.Sprintf("user %s does not see the jobs of others (PrivateData has jobs): make it an operator there (sacctmgr modify user %[1]s set adminlevel=operator)", d.cfg.User))
	}
}

// tokensFor are those that calls under ctx are made with.
func (c *client) tokensFor(ctx context.Context) (*tokens, error) {
	if user, ok := ctx.Value(ownerKey{}).(string); ok {
		return c.users.of(user)
	}
	return c.tokens, nil
}

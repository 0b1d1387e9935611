package daemon

import (
	"cmp"
	"context"
	"sync/atomic"

	"fsub/cmd/fed/internal/config"
	"fsub/federation/leader"
)

// addresses are where the daemons that share a database are reached by machines and jobs: each says where it is itself, and the leader tells all of them. nil:
// this daemon is alone.
type addresses struct {
	others atomic.Pointer[[]leader.Self]
}

// read asks the database for them.
func (a *addresses) read(ctx context.Context, t leader.Postgres, self string) error {
	all, err := t.Others(ctx, self)
	if err == nil {
		a.others.Store(&all)
	}
	return err
}

// agents are the URLs of the other daemons' agent servers.
func (a *addresses) agents() []string { return a.of(func(s *leader.Self) string { return s.Agents }) }

// remote are where the other daemons answer callers on other machines, HOST:PORT.
func (a *addresses) remote() []string {
	if a == nil {
		return nil
	}
	return a.of(func(s *leader.Self) string { return s.Remote })
}

// daemon is where another daemon answers; "": none of that name is known.
func (a *addresses) daemon(name string) string {
	for _, s := range *a.others.Load() {
		if s.Name == name {
			return s.Address
		}
	}
	return ""
}

func (a *addresses) of(address func(*leader.Self) string) (out []string) {
	for _, s := range *a.others.Load() {
		if at := address(&s); at != "" {
			out = append(out, at)
		}
	}
	return out
}

// agentsAt is where the machines of clouds reach a daemon; "": it rents none.
func agentsAt(c *config.Config) string {
	if !rents(c) || c.Agents.Listen == "" {
		return ""
	}
	return "https://" + cmp.Or(c.Agents.Address, c.Agents.Listen)
}

// remoteAt is where callers on other machines reach a daemon; "": nowhere.
func remoteAt(c *config.Config) string { return cmp.Or(c.Remote.Address, c.Remote.Listen) }

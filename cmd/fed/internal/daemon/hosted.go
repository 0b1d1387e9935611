package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"fsub/cloud/agentapi"
	"fsub/cloud/hosted"
	"fsub/cloud/provider"
	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	"fsub/federation/leader"
	"fsub/federation/peer"
)

// hosts are the local pools whose nodes are on this daemon's machine. Each is open for as long as the daemon runs, and serves whichever daemon leads.
type hosts struct {
	config *config.Config
	log    *slog.Logger
	table  leader.Postgres
	direct *http.Client // to other daemons themselves
	known  *addresses

	mu   sync.Mutex
	open map[federation.SiteName]provider.Provider
}

func newHosts(c *config.Config, table leader.Postgres, k *peer.Keys, known *addresses, log *slog.Logger) *hosts {
	return &hosts{config: c, log: log, table: table, direct: k.Direct(), known: known, open: map[federation.SiteName]provider.Provider{}}
}

// start opens the pools of this machine.
func (h *hosts) start(ctx context.Context) error {
	for i := range h.config.Sites {
		if s := &h.config.Sites[i]; h.config.Hosts(s) {
			if _, err := h.own(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// own is the provider of a site whose nodes are on this machine.
func (h *hosts) own(ctx context.Context, s *config.Site) (provider.Provider, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.open[s.Name]; p != nil {
		return p, nil
	}
	p, _, err := OpenProvider(ctx, h.config, s, nil, nil, h.log)
	if err == nil {
		h.open[s.Name] = p
	}
	return p, err
}

// there is the provider of a site, wherever its nodes are, for a daemon that leads under an epoch.
func (h *hosts) there(ctx context.Context, s *config.Site, epoch int64) (provider.Provider, agentapi.Boot, error) {
	boot := agentapi.Boot{Path: "fed-agent"} // where it is, the other daemon knows
	if h.config.Hosts(s) {
		p, err := h.own(ctx, s)
		return p, boot, err
	}
	host := s.Facts().Host
	return &hosted.Client{Site: s.Name, Daemon: host, Address: func() string { return h.known.daemon(host) }, Epoch: epoch, HTTP: h.direct}, boot, nil
}

// handler answers the daemon that leads while this one does not.
func (h *hosts) handler() http.Handler {
	return &hosted.Handler{
		Provider: func(site federation.SiteName) provider.Provider {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.open[site]
		},
		InForce: func(ctx context.Context, epoch int64) (bool, error) {
			l, err := h.table.Read(ctx)
			return err == nil && l.Epoch == epoch && l.Left > 0, err
		},
	}
}

// elsewhere is the error of what can be done on another daemon's machine alone.
func elsewhere(s *config.Site) error {
	return fmt.Errorf("site %s: its nodes are on the machine of daemon %s: run this there", s.Name, s.Facts().Host)
}

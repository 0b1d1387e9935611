package pool

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fsub/cloud/provider"
	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/config"
	"fsub/cmd/fed/internal/daemon"
	"fsub/federation"
	"fsub/federation/store"
)

// newClearCommand is for when the daemon is gone for good: it asks the clouds themselves, and
// needs no daemon.
func newClearCommand() *cobra.Command {
	var file config.Flag
	var yes, dry bool
	cmd := &cobra.Command{
		Use:   "clear [SITE...]",
		Short: "End every machine of this federation that the sites' clouds show, without the daemon",
		Long: `clear ends every machine that carries this federation's tags, whatever runs on it. It asks the clouds themselves and needs
no daemon: while one runs it refuses. It shows the machines and asks first (--yes: not asked). Machines also end by themselves when they do not hear the daemon for as long as agents: lease.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			c, err := file.ReadOwn()
			if err != nil {
				return err
			}
			for _, n := range names {
				if !slices.ContainsFunc(c.Sites, func(s config.Site) bool { return string(s.Name) == n && s.Rented() }) {
					return fmt.Errorf("no site %q whose machines are rented is configured; see: fed config check", n)
				}
			}
			if !dry {
				if err := inUse(cmd.Context(), &c); err != nil {
					return fmt.Errorf("%w: a daemon that runs would rent other machines, and take its jobs for running", err)
				}
			}
			sites, err := clearable(cmd.Context(), &c, names)
			if err != nil {
				return err
			}
			n := 0
			for _, s := range sites {
				n += len(s.machines)
			}
			out := cmd.OutOrStdout()
			if dry || !yes && n > 0 {
				if dry {
					printClearable(out, sites)
					return nil
				}
				printClearable(cmd.ErrOrStderr(), sites)
				if err := cli.Confirm(cmd, fmt.Sprintf("%d machines would be ended, whatever runs on them", n)); err != nil {
					return err
				}
			}
			for _, s := range sites {
				n, err := clearSite(cmd.Context(), s.provider)
				if err != nil {
					return fmt.Errorf("site %s: %w", s.name, err)
				}
				fmt.Fprintf(out, "%s: %d machines ended\n", s.name, n)
			}
			return nil
		},
	}
	file.Add(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "list the machines that would be ended, and end none; also while the daemon runs")
	return cmd
}

// rentedSite is a site with the machines that its cloud shows.
type rentedSite struct {
	name     federation.SiteName
	provider provider.Provider
	machines []provider.Instance
}

// clearable are the sites of these names, or all, whose machines can be ended.
func clearable(ctx context.Context, c *config.Config, names []string) (sites []rentedSite, err error) {
	key, missing := os.ReadFile(filepath.Join(c.StateDir, "agents.key")) // some know their machines by it
	for i := range c.Sites {
		s := &c.Sites[i]
		switch {
		case !s.Rented(), len(names) > 0 && !slices.Contains(names, string(s.Name)):
			continue
		case len(names) == 0 && s.Facts().Host != "" && !c.Hosts(s): // another machine's
			continue
		}
		if missing != nil && !s.Here() {
			return nil, fmt.Errorf("site %s: %w", s.Name, missing)
		}
		p, _, err := daemon.OpenProvider(ctx, c, s, key, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, err
		}
		all, err := p.List(ctx)
		if err != nil {
			return nil, fmt.Errorf("site %s: %w", s.Name, err)
		}
		all = slices.DeleteFunc(all, func(m provider.Instance) bool {
			return m.State == provider.InstanceEnded || m.State == provider.InstanceEnding
		})
		sites = append(sites, rentedSite{name: s.Name, provider: p, machines: all})
	}
	return sites, nil
}

func printClearable(out io.Writer, sites []rentedSite) {
	t := cli.NewTable(out)
	t.Row("SITE", "INSTANCE", "STATE", "LAUNCHED")
	for _, s := range sites {
		for _, m := range s.machines {
			t.Row(string(s.name), string(m.ID), string(m.State), cli.When(m.Launched))
		}
	}
	t.Flush()
}

// clearPatience is how long the clouds may take to end what they were asked to.
const clearPatience = 5 * time.Minute

// clearSite ends all machines and returns how many there were, once none is left.
func clearSite(ctx context.Context, p provider.Provider) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, clearPatience)
	defer cancel()
	seen := map[provider.InstanceID]bool{}
	for {
		all, err := p.List(ctx)
		if err != nil {
			return len(seen), err
		}
		var left []provider.InstanceID
		alive := 0
		for _, m := range all {
			switch m.State {
			case provider.InstanceEnded:
			case provider.InstanceEnding:
				alive++
			default:
				alive++
				left = append(left, m.ID)
				seen[m.ID] = true
			}
		}
		if alive == 0 {
			return len(seen), nil
		}
		if len(left) > 0 {
			if err := p.Delete(ctx, left); err != nil {
				return len(seen), err
			}
		}
		select {
		case <-ctx.Done():
			return len(seen), fmt.Errorf("%w: %d machines have not ended yet; run this again", federation.ErrUnavailable, alive)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// inUse reports as an error that a daemon uses the store of the configuration.
func inUse(ctx context.Context, c *config.Config) error {
	if c.Store != "" {
		return store.InUsePostgres(ctx, store.Postgres{URL: c.Store, PasswordFile: c.StorePasswordFile})
	}
	return store.InUse(c.StorePath())
}

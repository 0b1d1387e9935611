package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fsub/cloud/provider"
	"fsub/federation"
)

// newPoolClearCommand is for when the daemon is gone for good: it asks the clouds themselves, and
// needs no daemon.
func newPoolClearCommand() *cobra.Command {
	var file configFlag
	cmd := &cobra.Command{
		Use:   "clear [SITE...]",
		Short: "End every machine of this federation that the sites' clouds show, without the daemon",
		Long: `clear ends every machine that carries this federation's tags, whatever runs on it. It asks the clouds themselves and needs
no daemon; stop the daemon first, or it will rent others. Machines also end by themselves when they do not hear the daemon for as long as agents: lease.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			c, err := file.read()
			if err != nil {
				return err
			}
			for _, n := range names {
				if !slices.ContainsFunc(c.Sites, func(s SiteConfig) bool { return string(s.Name) == n && s.rented() }) {
					return fmt.Errorf("no site %q whose machines are rented is configured; see: fed config check", n)
				}
			}
			for i := range c.Sites {
				s := &c.Sites[i]
				if !s.rented() || len(names) > 0 && !slices.Contains(names, string(s.Name)) {
					continue
				}
				p, _, err := openProvider(cmd.Context(), &c, s, nil, slog.New(slog.DiscardHandler))
				if err != nil {
					return err
				}
				n, err := clearSite(cmd.Context(), p)
				if err != nil {
					return fmt.Errorf("site %s: %w", s.Name, err)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %d machines ended\n", s.Name, n)
			}
			return nil
		},
	}
	file.add(cmd)
	return cmd
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

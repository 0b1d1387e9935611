// Package site has the commands about the sites of the federation: fed site.
package site

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

func NewCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "site", Short: "The sites of the federation: list, show, drain, resume, lost, add, update, remove, test"}
	set := newStateCommand("set SITE STATE", "Set a site's FedState: ACTIVE, INACTIVE, DRAIN or DRAIN+REMOVE", v1.SetSiteState{})
	set.Long = `Set a site's FedState, in the words of Slurm's federations.

ACTIVE        it gets jobs
INACTIVE      it gets none, and those of the federation that wait there go elsewhere; what runs there goes on
DRAIN         it gets none, and keeps those that it has
DRAIN+REMOVE  the same, and when the last has ended it leaves the federation`
	cmd.AddCommand(newListCommand(), newShowCommand(),
		newStateCommand("drain SITE", "Give a site no new jobs; it keeps those that it has", v1.SetSiteState{State: federation.FedDrain}),
		newStateCommand("resume SITE", "Give a site jobs again", v1.SetSiteState{State: federation.FedActive}),
		set, newLostCommand(), newTestCommand(), newAddCommand(), newUpdateCommand(),
		newStateCommand("remove SITE", "Drain a site, and remove it from the federation when its last job has ended", v1.SetSiteState{State: federation.FedDrainRemove}))
	return cmd
}

func newListCommand() *cobra.Command {
	return cli.List(&v1.Sites, &cobra.Command{Use: "list", Short: "List the sites: state, health, and what is free"})
}

// newStateCommand makes a command that sets a site's state: to that of r, or to the second argument if it has none.
func newStateCommand(use, short string, r v1.SetSiteState) *cobra.Command {
	n := len(strings.Fields(use)) - 1
	cmd := cli.Ask(&cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(n)}, func(ctx context.Context, c *client.Client, args []string) (v1.SiteSet, error) {
		if n == 2 {
			r.State = federation.FedState(strings.ToUpper(args[1]))
		}
		return c.SetSiteState(ctx, federation.SiteName(args[0]), r)
	}, printSiteSet)
	cmd.Flags().StringVar(&r.Reason, "reason", "", "why; shown by fed site show")
	return cmd
}

// Package site has the commands about the sites of the federation: fed site.
package site

import (
	"fmt"
	"strings"
	"time"

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
	var c cli.Connection
	var removed bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sites: state, health, and what is free",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sites, err := client.List(cmd.Context(), c.Client(), &v1.Sites, v1.SiteQuery{Removed: removed})
			if err != nil {
				return err
			}
			if c.JSON {
				return cli.PrintJSON(cmd.OutOrStdout(), sites)
			}
			t := cli.NewTable(cmd.OutOrStdout())
			t.Row("SITE", "STATE", "HEALTH", "AGE", "SLURM", "MODE", "NODES", "IDLE", "GPUS", "FREE", "RUNNING", "BOUND", "REASON")
			for _, s := range sites {
				t.Row(siteRow(s)...)
			}
			return t.Flush()
		},
	}
	c.Flags(cmd)
	cmd.Flags().BoolVar(&removed, "removed", false, "also those that have left the federation")
	return cmd
}

// HealthOf is what is wrong with a site, in one word for each condition.
func HealthOf(s *v1.Site) string {
	switch {
	case s.State == federation.FedRemoved:
		return ""
	case len(s.Conditions) == 0 && s.Answering:
		return "ok"
	case len(s.Conditions) == 0: // the daemon has made no round yet
		return "NOT SEEN"
	}
	var names []string
	for _, c := range s.Conditions {
		names = append(names, strings.ReplaceAll(string(c.Name), "_", " "))
	}
	return strings.Join(names, ", ")
}

func siteRow(s v1.Site) []string {
	health := HealthOf(&s)
	age := ""
	if !s.Seen.IsZero() {
		age = max(time.Since(s.Seen), 0).Round(time.Second).String()
	}
	var reasons []string
	if s.StateWhy != "" && s.StateWhy != "added" {
		reasons = append(reasons, s.StateWhy)
	}
	if s.Error != "" {
		reasons = append(reasons, s.Error)
	}
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Detail != "" && c.Detail != s.Error {
			reasons = append(reasons, c.Detail)
		}
	}
	if len(s.Warnings) > 0 { // fed site show has them
		reasons = append(reasons, "warning")
	}
	n := func(i int) string { return fmt.Sprint(i) }
	return []string{string(s.Name), string(s.State), health, age, s.Version, string(s.Mode), n(s.Nodes), n(s.NodesIdle), n(s.GPUs), n(s.GPUsFree),
		n(s.Running), n(s.Bound), strings.ReplaceAll(strings.Join(reasons, "; "), "\n", " ")}
}

// newStateCommand makes a command that sets a site's state: to that of r, or to the second argument if it has none.
func newStateCommand(use, short string, r v1.SetSiteState) *cobra.Command {
	var c cli.Connection
	n := len(strings.Fields(use)) - 1
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(n),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n == 2 {
				r.State = federation.FedState(strings.ToUpper(args[1]))
			}
			set, err := c.Client().SetSiteState(cmd.Context(), federation.SiteName(args[0]), r)
			if err != nil {
				return err
			}
			return printSiteSet(cmd.OutOrStdout(), &c, &set)
		},
	}
	c.Flags(cmd)
	cmd.Flags().StringVar(&r.Reason, "reason", "", "why; shown by fed site show")
	return cmd
}

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

func newSiteCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "site", Short: "The sites of the federation"}
	cmd.AddCommand(newSiteListCommand(), newSiteStateCommand("drain", "Give a site no new jobs; it keeps those that it has", federation.FedDrain),
		newSiteStateCommand("resume", "Give a site jobs again", federation.FedActive))
	return cmd
}

func newSiteListCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sites: state, health, and what is free",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sites, err := c.client().Sites(cmd.Context())
			if err != nil {
				return err
			}
			if c.json {
				return printJSON(cmd.OutOrStdout(), sites)
			}
			t := newTable(cmd.OutOrStdout())
			t.row("SITE", "STATE", "HEALTH", "AGE", "SLURM", "MODE", "NODES", "IDLE", "GPUS", "FREE", "RUNNING", "BOUND", "REASON")
			for _, s := range sites {
				t.row(siteRow(s)...)
			}
			return t.flush()
		},
	}
	c.flags(cmd)
	return cmd
}

func siteRow(s v1.Site) []string {
	health := "ok"
	if !s.Answering {
		health = "NO ANSWER"
	}
	age := ""
	if !s.Seen.IsZero() {
		age = max(time.Since(s.Seen), 0).Round(time.Second).String()
	}
	reasons := s.Warnings
	for _, r := range []string{s.Error, s.StateWhy} {
		if r != "" {
			reasons = append([]string{r}, reasons...)
		}
	}
	n := func(i int) string { return fmt.Sprint(i) }
	return []string{string(s.Name), string(s.State), health, age, s.Version, string(s.Mode), n(s.Nodes), n(s.NodesIdle), n(s.GPUs), n(s.GPUsFree),
		n(s.Running), n(s.Bound), strings.ReplaceAll(strings.Join(reasons, "; "), "\n", " ")}
}

func newSiteStateCommand(verb, short string, state federation.FedState) *cobra.Command {
	var c connection
	var reason string
	cmd := &cobra.Command{
		Use:   verb + " SITE",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.client().SetSiteState(cmd.Context(), federation.SiteName(args[0]), v1.SetSiteState{State: state, Reason: reason})
		},
	}
	c.flags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why; shown by fed site list")
	return cmd
}

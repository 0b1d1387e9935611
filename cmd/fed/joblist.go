package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1 "fsub/federation/api/v1"
)

// jobWhere explains the conditions that choose jobs.
const jobWhere = `Conditions are KEY=VALUE[,VALUE...], KEY!=VALUE[,VALUE...], age>TIME and age<TIME; of several --where all must be met. Keys: id; state (running,
pending, R, PD ..., ended for all that are final); user, account and name, in which * stands for anything; site (none: in the federation's queue);
partition; node (SITE/HOSTLIST or HOSTLIST); gpu (a kind, or any); reason (a part of it); age, since the submission: 90m, 2h, 3d.
Jobs that have ended are meant only where a state says so.`

func jobWhereFlag(cmd *cobra.Command, where *[]string) {
	cmd.Flags().StringArrayVar(where, "where", nil, "choose jobs: site=alpha, node=alpha/n[1-4], state=running, 'age>2h' ...; may be repeated")
}

func newJobListCommand() *cobra.Command {
	var c connection
	var where []string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the jobs of all sites that conditions choose",
		Long:  "List the jobs of all sites that conditions choose; all that have not ended if there are none.\n\n" + jobWhere,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			jobs, err := c.client().Jobs(cmd.Context(), where)
			if err != nil {
				return err
			}
			if c.json {
				return printJSON(cmd.OutOrStdout(), jobs)
			}
			t, flush := newWideTable(cmd.OutOrStdout())
			t.row("JOBID", "USER", "ACCOUNT", "NAME", "STATE", "REASON", "SITE", "PARTITION", "NODES", "AGE", "RESTARTS")
			for i := range jobs {
				t.row(jobRow(&jobs[i])...)
			}
			return flush()
		},
	}
	c.flags(cmd)
	jobWhereFlag(cmd, &where)
	return cmd
}

func jobRow(j *v1.JobLine) []string {
	id := j.ID.String()
	switch {
	case j.Array == j.ID:
		id = fmt.Sprintf("%d_[%s]", j.ID, j.Tasks)
	case j.Array != 0:
		id = fmt.Sprintf("%d_%s", j.Array, j.Tasks)
	}
	reason := strings.TrimPrefix(string(j.Reason), "None")
	return []string{id, j.User, j.Account, strings.ReplaceAll(j.Name, "\t", " "), string(j.State), reason, string(j.Site), j.Partition, j.Nodes, ageText(time.Since(j.Submit)), fmt.Sprint(j.Restarts)}
}

// ageText writes a time as people say it: 45s, 12m, 3h10m, 2d4h.
func ageText(d time.Duration) string {
	switch d = max(d, 0).Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

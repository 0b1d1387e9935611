package admin

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

func NewAuditCommand() *cobra.Command {
	var c cli.Connection
	var q v1.AuditQuery
	var since, until cli.PastTime
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Who has done what to jobs of others, nodes and sites; operators only",
		Long: `Each line tells one act of an operator, a coordinator or a rule of the daemon: who, from where, what, to which object, its state
before and after, why, and what became of it. Lines are written together with the change that they tell of, and never changed;
how long they are kept, keep_audit says in the configuration. What users do with their own jobs is in fed events.`,
		Example: `  fed audit --since 2h
  fed audit --who olga --kind node --object 'alpha/*'
  fed audit --kind job --object 30000001 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.Since, q.Until = time.Time(since), time.Time(until)
			all, err := client.List(cmd.Context(), c.Client(), &v1.Audits, q)
			if err != nil {
				return err
			}
			if c.JSON {
				return cli.PrintJSON(cmd.OutOrStdout(), all)
			}
			t, flush := cli.NewWideTable(cmd.OutOrStdout())
			t.Row("TIME", "WHO", "ROLE", "FROM", "VERB", "OBJECT", "BEFORE", "AFTER", "TICKET", "WHY", "RESULT")
			for i := range all {
				t.Row(auditRow(&all[i])...)
			}
			return flush()
		},
	}
	c.Flags(cmd)
	f := cmd.Flags()
	f.StringVar(&q.User, "who", "", "only what this user did; fed is the daemon itself")
	f.StringVar(&q.Verb, "verb", "", "only this: drain, resume, requeue, cancel ...")
	f.StringVar((*string)(&q.Kind), "kind", "", "only actions on a job, node, site ...")
	f.StringVar(&q.Object, "object", "", "only actions on this: a job ID, SITE/NODE, a site ...; 'alpha/*' for all that begin so")
	f.Var(&since, "since", "only since then: 90m, 2h, 3d, or 2026-11-22T18:00")
	f.Var(&until, "until", "only before then; likewise")
	f.IntVarP(&q.Limit, "limit", "n", 1000, "how many lines at most, the newest of them")
	return cmd
}

func auditRow(e *v1.AuditEntry) []string {
	plain := strings.NewReplacer("\t", " ", "\n", " ").Replace
	role := e.Role
	if role == "None" { // Slurm's word for a user without rights over others
		role = "User"
	}
	return []string{cli.When(e.Time), e.User, role, e.From, e.Verb, string(e.Kind) + " " + e.Object, e.Before, e.After, e.Ticket, plain(e.Why), plain(e.Result)}
}

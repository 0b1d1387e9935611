package admin

import (
	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	v1 "fsub/federation/api/v1"
)

func NewAuditCommand() *cobra.Command {
	return cli.List(&v1.Audits, &cobra.Command{
		Use:   "audit",
		Short: "Who has done what to jobs of others, nodes and sites; operators only",
		Long: `Each line tells one act of an operator, a coordinator or a rule of the daemon: who, from where, what, to which object, its state
before and after, why, and what became of it. Lines are written together with the change that they tell of, and never changed;
how long they are kept, keep_audit says in the configuration. What users do with their own jobs is in fed events.`,
		Example: `  fed audit --since 2h
  fed audit --who olga --kind node --object 'alpha/*'
  fed audit --kind job --object 30000001 --json`,
	})
}

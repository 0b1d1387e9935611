package books

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fsub/accounting/report"
	"fsub/cmd/fed/internal/cli"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

// newSavedReportCommands adds the verbs for reports that the daemon makes again and again.
func newSavedReportCommands(parent *cobra.Command) {
	cli.AddVerbs(parent, &v1.SavedReports, &cobra.Command{
		Short: "Schedule a report, to be mailed or written to a file",
		Long: `Schedule a report that the daemon makes, and mails or writes to a file. REPORT is one of ` + strings.Join(append(slices.Clone(report.Kinds), "budget"), ", ") + `.
It is of the day, week or month that is over when it is sent, or of --last until then, and shows what you may see at that time. One of the same name is replaced.`,
		Example: "  fed report save monthly cost --by user,gpu --send month --mail lead@example.org\n  fed report save waits wait --by partition --every day --last 4w --send week --at 07:30 --format csv",
	})
	parent.AddCommand(cli.Verb(&v1.SavedReports, "run", "Make and deliver a saved report now, beside its schedule", func(cmd *cobra.Command, c *client.Client, path string) error {
		sent, err := client.Post[v1.DeliveredReport](cmd.Context(), c, path, nil)
		if err == nil {
			_, err = fmt.Fprintln(cmd.OutOrStdout(), sent.To)
		}
		return err
	}))
}

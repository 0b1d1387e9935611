package books

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fsub/accounting/report"
	"fsub/cmd/fed/internal/cli"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/plain"
)

// newSavedReportCommands adds the verbs for reports that the daemon makes again and again.
func newSavedReportCommands(parent *cobra.Command) {
	parent.AddCommand(newSaveReportCommand(),
		cli.List(&v1.SavedReports, &cobra.Command{Use: "list", Short: "Saved reports: yours; operators see all"}),
		savedReportCommand("show NAME", "A saved report, and what became of it", cobra.ExactArgs(1), func(cmd *cobra.Command, c *cli.Connection, user string, args []string) error {
			all, err := client.List(cmd.Context(), c.Client(), &v1.SavedReports, v1.None{})
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(s v1.SavedReport) bool { return s.Name != args[0] || user != "" && s.User != user })
			switch {
			case len(all) == 0:
				return fmt.Errorf("there is no report %q that you may see; see: fed report list", args[0])
			case c.JSON:
				return cli.PrintJSON(cmd.OutOrStdout(), all)
			}
			for i := range all {
				showSaved(cmd.OutOrStdout(), &all[i])
			}
			return nil
		}),
		savedReportCommand("remove NAME", "Remove a saved report", cobra.ExactArgs(1), func(cmd *cobra.Command, c *cli.Connection, user string, args []string) error {
			_, err := client.Delete[struct{}](cmd.Context(), c.Client(), reportPath(user, args[0], ""))
			return err
		}),
		savedReportCommand("run NAME", "Make and deliver a saved report now, beside its schedule", cobra.ExactArgs(1), func(cmd *cobra.Command, c *cli.Connection, user string, args []string) error {
			sent, err := client.Post[v1.DeliveredReport](cmd.Context(), c.Client(), reportPath(user, args[0], "/run"), nil)
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), sent.To)
			}
			return err
		}))
}

// reportPath names a saved report. user is whose it is; "": the caller's.
func reportPath(user, name, action string) string {
	return "/fed/v1/report/" + url.PathEscape(name) + action + "?" + url.Values{"user": {user}}.Encode()
}

func savedReportCommand(use, short string, args cobra.PositionalArgs, run func(cmd *cobra.Command, c *cli.Connection, user string, args []string) error) *cobra.Command {
	var c cli.Connection
	var user string
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error { return run(cmd, &c, user, args) }}
	c.Flags(cmd)
	cmd.Flags().StringVar(&user, "user", "", "whose report, for operators (default: yours)")
	return cmd
}

func newSaveReportCommand() *cobra.Command {
	var c cli.Connection
	var s v1.SavedReport
	cmd := &cobra.Command{
		Use:   "save NAME REPORT",
		Short: "Schedule a report, to be mailed or written to a file",
		Long: `Schedule a report that the daemon makes, and mails or writes to a file. REPORT is one of ` + strings.Join(append(slices.Clone(report.Kinds), "budget"), ", ") + `.
It is of the day, week or month that is over when it is sent, or of --last until then, and shows what you may see at that time. One of the same name is replaced.`,
		Example: "  fed report save monthly cost --by user,gpu --send month --mail lead@example.org\n  fed report save waits wait --by partition --every day --last 4w --send week --at 07:30 --format csv",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Name, s.Report = args[0], args[1]
			done, err := client.Post[v1.SavedReport](cmd.Context(), c.Client(), "/fed/v1/reports", s)
			switch {
			case err != nil:
				return err
			case c.JSON:
				return cli.PrintJSON(cmd.OutOrStdout(), done)
			}
			showSaved(cmd.OutOrStdout(), &done)
			return nil
		},
	}
	c.Flags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&s.By, "by", []string{"account"}, "what to tell apart: site, account, user, qos, partition, gpu, name; several with commas, or none")
	f.StringVar(&s.Every, "every", "", "tell the time apart: day, week or month")
	f.StringVar(&s.Last, "last", "", `days, weeks or months: "30d", "4w", "12m" (default: the period that is over)`)
	f.StringArrayVar(&s.Where, "where", nil, "KEY=VALUE[,VALUE...]: only runs of which this is true; keys are those of --by")
	f.StringVar(&s.Format, "format", "html", "table, csv, json, parquet or html")
	f.StringVar(&s.Send, "send", "", "day, week (on Mondays) or month (on its first day); without it, only by fed report run")
	f.StringVar(&s.At, "at", "", "time of the day, HH:MM, UTC (default: 06:00)")
	f.StringSliceVar(&s.Mail, "mail", nil, "addresses, with commas (default: it becomes a file)")
	return cmd
}

func showSaved(w io.Writer, s *v1.SavedReport) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-7s %s\n", name, plain.Line(value))
		}
	}
	line("name", s.Name)
	line("user", s.User)
	line("report", s.Report)
	line("by", strings.Join(s.By, ","))
	line("every", s.Every)
	line("last", s.Last)
	line("where", strings.Join(s.Where, " "))
	line("format", s.Format)
	line("send", s.When())
	line("to", s.Receivers())
	line("sent", strings.TrimSpace(v1.ReportTime(s.Sent)+" "+s.SentTo))
	line("next", v1.ReportTime(s.Next))
	if s.Error != "" {
		line("error", fmt.Sprintf("%s (%d tries)", s.Error, s.Tries))
	}
}

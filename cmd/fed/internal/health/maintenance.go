package health

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/node"
	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

func NewMaintenanceCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "maintenance", Short: "Planned maintenance of sites and nodes: list, add, remove"}
	cmd.AddCommand(newMaintenanceListCommand(), newMaintenanceAddCommand(), newMaintenanceRemoveCommand())
	return cmd
}

func newMaintenanceListCommand() *cobra.Command {
	return cli.List(&v1.Maintenances, &cobra.Command{Use: "list", Short: "List current and planned maintenance"})
}

func newMaintenanceAddCommand() *cobra.Command {
	var from, to string
	var m v1.Maintenance
	cmd := cli.Ask(&cobra.Command{
		Use:   "add SITE[/HOSTLIST] --to TIME --reason TEXT",
		Short: "Plan a maintenance: no job is placed that would run into it",
		Long: `Plan a maintenance of a site, or of some of its nodes. No job is placed there that would run into it by its time limit; those that wait at the
site and would, go elsewhere. What runs there is left alone: drain the nodes if it is not to. fed explain names the maintenance to those who wait for it.
Reservations that a site's own admins have made with the flag MAINT count in the same way.`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, c *client.Client, args []string) (_ v1.Maintenance, err error) {
		site, nodes, _ := strings.Cut(args[0], "/")
		if nodes == "*" {
			nodes = ""
		}
		m.Site, m.Nodes = federation.SiteName(site), nodes
		now := time.Now()
		if m.From = now; from != "" {
			if m.From, err = node.ReadUntil(from, now); err != nil {
				return m, fmt.Errorf("--from: %w", err)
			}
		}
		if m.To, err = node.ReadUntil(to, m.From); err != nil {
			return m, fmt.Errorf("--to: %w", err)
		}
		if m.To.IsZero() {
			return m, fmt.Errorf("--to is missing: when is it over?")
		}
		return client.Post[v1.Maintenance](ctx, c, "/fed/v1/maintenance", m)
	}, func(w io.Writer, m v1.Maintenance) error {
		_, err := fmt.Fprintf(w, "Maintenance %d of %s (%s) from %s to %s\n", m.ID, m.Site, cli.AllIfNone(m.Nodes), cli.When(m.From), cli.When(m.To))
		return err
	})
	cmd.Flags().StringVar(&from, "from", "", `when it begins: "4h" from now, "18:00", "2026-12-01T08:00"; now if absent`)
	cmd.Flags().StringVar(&to, "to", "", `when it is over, likewise; "4h" after its beginning`)
	cmd.Flags().StringVar(&m.Reason, "reason", "", "why, for those who wait")
	return cmd
}

func newMaintenanceRemoveCommand() *cobra.Command {
	return cli.Ask(&cobra.Command{
		Use:   "remove ID",
		Short: "Cancel planned maintenance, or end it",
		Args:  cobra.ExactArgs(1),
	}, func(ctx context.Context, c *client.Client, args []string) (m v1.Maintenance, err error) {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil {
			return m, fmt.Errorf("invalid number %q of a maintenance; see: fed maintenance list", args[0])
		}
		return client.Delete[v1.Maintenance](ctx, c, fmt.Sprintf("/fed/v1/maintenance/%d", id))
	}, func(w io.Writer, m v1.Maintenance) error {
		done := "taken back"
		if !m.From.IsZero() && m.From.Before(time.Now()) {
			done = "ended"
		}
		_, err := fmt.Fprintf(w, "Maintenance %d of %s (%s) from %s to %s: %s\n", m.ID, m.Site, cli.AllIfNone(m.Nodes), cli.When(m.From), cli.When(m.To), done)
		return err
	})
}

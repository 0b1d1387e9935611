package daemon

import (
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"fsub/cloud/agentapi"
	"fsub/cmd/internal/build"
	"fsub/federation/store"
)

// Version names the build, the newest schema of the database that it knows, and what it speaks with agents.
func Version() string {
	return fmt.Sprintf("%s, database schema %d, agent protocol %d", build.Read(), store.NewestSchema(), agentapi.Protocol)
}

func NewVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Name this build: version, commit, date, schema of the database, protocol of agents",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "fed %s\n", Version())
			return err
		},
	}
}

// buildMetric is 1, with the build in its labels.
func buildMetric() prometheus.Collector {
	b := build.Read()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fsub_build_info", Help: "1; the labels name the build of the daemon.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "date": b.Date, "schema": strconv.Itoa(store.NewestSchema())}},
		func() float64 { return 1 })
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"fsub/accounting"
	"fsub/federation"
	"fsub/testbed/bed"
)

// demoPrices are dollars per hour at the bed's sites: made up, of the order of what a cloud asks for such nodes, so that the
// sites differ. A real federation has its own.
var demoPrices = map[string]accounting.Prices{
	"alpha": {"gres/gpu:h100": 3.90, "cpu": 0.04},
	"beta":  {"gres/gpu:a100": 1.30, "cpu": 0.02},
	"gamma": {"gres/gpu:h200": 4.60, "cpu": 0.05},
	"delta": {"gres/gpu:v100": 0.60, "cpu": 0.01},
}

// demoSpeed is how fast the bed's GPU types count against an H100.
var demoSpeed = map[string]float64{"h100": 1, "h200": 1.1, "a100": 0.45, "v100": 0.2}

func newBedConfigCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "config [SITE...]",
		Short: "Print a configuration for the daemon (fed serve) of the bed's sites that are up, or of those named",
		RunE: func(cmd *cobra.Command, names []string) error {
			b, err := bed.Open(dir)
			if err != nil {
				return err
			}
			c, err := bedConfig(cmd, b, names)
			if err != nil {
				return err
			}
			return yaml.NewEncoder(cmd.OutOrStdout(), yaml.IndentSequence(true)).Encode(c)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", envOr("FSUB_BED", bed.DefaultDir), "directory of the bed (env FSUB_BED)")
	return cmd
}

func bedConfig(cmd *cobra.Command, b *bed.Bed, names []string) (Config, error) {
	c := defaults()
	c.Federation = "bed"
	c.Socket = filepath.Join(b.FedDir(), "fsub.sock")
	c.StateDir = filepath.Join(b.FedDir(), "state")
	sites, err := b.Status(cmd.Context())
	if err != nil {
		return c, err
	}
	for _, s := range sites {
		if !s.Up || len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		site := SiteConfig{Name: federation.SiteName(s.Name), URL: s.RestURL, User: "slurm", KeyFile: s.KeyFile, Partition: "main",
			Prices: demoPrices[s.Name], Speed: demoSpeed}
		topology := filepath.Join(filepath.Dir(s.Conf), "topology.conf")
		if _, err := os.Stat(topology); err == nil {
			site.Topology = topology
		}
		c.Sites = append(c.Sites, site)
	}
	if len(c.Sites) == 0 {
		return c, fmt.Errorf("no site of the bed is up%s; run: fed bed up", ofThese(names))
	}
	return c, nil
}

func ofThese(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " among " + strings.Join(names, ", ")
}

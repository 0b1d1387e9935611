package bed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fsub/accounting"
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

// FedConfig is the part of the daemon's configuration that has no default: of a federation of the bed's sites.
type FedConfig struct {
	Federation string    `yaml:"federation"`
	Socket     string    `yaml:"socket"`
	StateDir   string    `yaml:"state_dir"`
	Sites      []FedSite `yaml:"sites"`
}

// FedSite is one site of a FedConfig.
type FedSite struct {
	Name      string             `yaml:"name"`
	URL       string             `yaml:"url"`
	User      string             `yaml:"user"`
	KeyFile   string             `yaml:"key_file"`
	Prices    accounting.Prices  `yaml:"prices,omitempty"`
	Speed     map[string]float64 `yaml:"speed,omitempty"`
	Partition string             `yaml:"default_partition"`
	Topology  string             `yaml:"topology_file,omitempty"`
}

// FedConfig is a configuration for fed serve: of the sites that are up, or of those named.
func (b *Bed) FedConfig(ctx context.Context, names []string) (FedConfig, error) {
	c := FedConfig{Federation: "bed", Socket: filepath.Join(b.FedDir(), "fsub.sock"), StateDir: filepath.Join(b.FedDir(), "state")}
	sites, err := b.Status(ctx)
	if err != nil {
		return c, err
	}
	for _, s := range sites {
		if !s.Up || len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		site := FedSite{Name: s.Name, URL: s.RestURL, User: "slurm", KeyFile: s.KeyFile, Partition: "main",
			Prices: demoPrices[s.Name], Speed: demoSpeed}
		topology := filepath.Join(filepath.Dir(s.Conf), "topology.conf")
		if _, err := os.Stat(topology); err == nil {
			site.Topology = topology
		}
		c.Sites = append(c.Sites, site)
	}
	if len(c.Sites) == 0 {
		return c, fmt.Errorf("no site of the bed is up%s; run: bin/bed up", ofThese(names))
	}
	return c, nil
}

func ofThese(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " among " + strings.Join(names, ", ")
}

package squeue

import (
	"errors"
	"fmt"
	"io"

	"fsub/cmd/internal/show"
)

// clusterNames are the listings that --clusters asks for. For "all" each job is shown once: first those
// without a site, then site by site.
func (c *command) clusterNames() (out []show.Cluster, err error) {
	if c.clusters == "all" {
		whole, sites, err := show.Members(c.caller)
		if err != nil {
			return nil, fmt.Errorf("slurm_load_jobs error: %w", err)
		}
		out = []show.Cluster{{Name: whole, Site: whole}}
		for _, s := range sites {
			if s != whole {
				out = append(out, show.Cluster{Name: s, Site: s})
			}
		}
		return out, nil
	}
	out, complaint, err := show.Clusters(c.caller, "squeue", c.clusters)
	if errors.As(err, new(*show.Failure)) {
		err = fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	io.WriteString(c.stderr, complaint)
	return out, err
}

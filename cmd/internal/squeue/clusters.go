package squeue

import (
	"fmt"
	"strings"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// cluster is one body of a listing with --clusters: its name, and the cluster that its jobs are of,
// "" for all jobs.
type cluster struct{ name, only string }

// clusterNames returns the listings that --clusters asks for. A site of the federation is a
// cluster; so is the federation as a whole, which has all jobs. For "all" each job is shown once:
// first those without a site, then site by site. Unknown names are reported, and an error if no
// name is known.
func (c *command) clusterNames() ([]cluster, error) {
	var ping wire.PingResponse
	if err := show.Get(c.caller, wire.Slurm(wire.Base, wire.PathPing), &ping); err != nil {
		return nil, fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	var sites []v1.Site
	if err := show.Get(c.caller, "/fed/v1/sites", &sites); err != nil {
		return nil, fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	whole := ping.Meta.Slurm.Cluster
	known := map[string]cluster{}
	all := []cluster{{whole, whole}}
	for _, s := range sites {
		cl := cluster{string(s.Name), string(s.Name)}
		known[cl.name] = cl
		if cl.name != whole {
			all = append(all, cl)
		}
	}
	known[whole] = cluster{whole, ""}
	if c.clusters == "all" {
		return all, nil
	}
	return pick(known, show.List(c.clusters), func(name string) {
		fmt.Fprintf(c.stderr, "squeue: error: No cluster '%s' known by database.\n", name)
	})
}

// pick takes each of names once.
func pick(known map[string]cluster, names []string, unknown func(string)) ([]cluster, error) {
	var out []cluster
	for _, name := range names {
		cl, ok := known[name]
		if !ok {
			unknown(name)
			continue
		}
		delete(known, name)
		out = append(out, cl)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("squeue: error: '%s' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to see "+
			"available clusters.\nsqueue: fatal: Could not get cluster information", strings.Join(names, ","))
	}
	return out, nil
}

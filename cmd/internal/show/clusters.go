package show

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// Cluster is one of those that --clusters names: a site of the federation, or the federation as a whole.
type Cluster struct {
	Name string
	Site string // "" for the whole
}

// Clusters reads the value of --clusters. Empty means no cluster; "all" is the federation as a
// whole. It returns a complaint about each unknown name, and an error, a whole line for stderr, if
// no name is known.
func Clusters(c Caller, command, list string) (out []Cluster, complaint string, err error) {
	if list == "" {
		return nil, "", nil
	}
	whole, sites, err := Members(c)
	if err != nil {
		return nil, "", err
	}
	if list == "all" {
		return []Cluster{{Name: whole}}, "", nil
	}
	for _, name := range List(list) {
		switch known := slices.Contains(sites, name); {
		case slices.ContainsFunc(out, func(o Cluster) bool { return o.Name == name }):
		case known && name == whole && len(sites) == 1: // the same
			out = append(out, Cluster{Name: name})
		case known:
			out = append(out, Cluster{Name: name, Site: name})
		case name == whole:
			out = append(out, Cluster{Name: name})
		default:
			complaint += fmt.Sprintf("%s: error: No cluster '%s' known by database.\n", command, name)
		}
	}
	if len(out) == 0 {
		return nil, "", errors.New(complaint + fmt.Sprintf("%s: error: '%s' can't be reached now, or it is an invalid entry for --cluster.  "+
			"Use 'sacctmgr list clusters' to see available clusters.\n%s: fatal: Could not get cluster information", command, strings.Trim(list, ","), command))
	}
	return out, complaint, nil
}

// Members are the federation's name and those of its sites. An error is a *Failure.
func Members(c Caller) (whole string, sites []string, err error) {
	var ping wire.PingResponse
	if err := Get(c, wire.Slurm(wire.Base, wire.PathPing), &ping); err != nil {
		return "", nil, err
	}
	var list []v1.Site
	if err := Get(c, "/fed/v1/sites", &list); err != nil {
		return "", nil, err
	}
	for _, s := range list {
		sites = append(sites, string(s.Name))
	}
	return ping.Meta.Slurm.Cluster, sites, nil
}

package topology

import "fsub/slurm/hostlist"

// ExpandHosts returns the names in a host list of Slurm's form, in order: "a,n[1-3,07],r[1-2]n[1-4]".
func ExpandHosts(list string) ([]string, error) { return hostlist.ExpandLoosely(list) }

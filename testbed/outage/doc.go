// Package outage holds tests over two real Slurm sites: one that is lost for good and comes back, and partial outages, which are conditions with
// names and no errors.
package outage

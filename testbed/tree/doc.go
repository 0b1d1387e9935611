// Package tree holds, on real Slurm of three releases, what the account tree promises: its fair-share is that of each site's own sshare, a site's
// associations are brought in and made to agree, and sites start our jobs in our order.
//
// FSUB_FULL has a third site, more trees, and more kills.
package tree

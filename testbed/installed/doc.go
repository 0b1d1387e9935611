// Package installed is a machine with systemd, in namespaces, over a real Slurm site: what docs/install.md says is done there, line by line, by a newcomer who knows
// nothing else; then the daemon is upgraded while users submit.
package installed

// Package demand asks real Slurm how much jobs need that ask for it in many ways, and compares it with what package
// fsub/federation/demand has written down of it. With -update it writes it down.
package demand

// Package accounting is the arithmetic of money and usage: what a TRES costs by the hour and what a job came to. It is
// pure; records are kept by the store and collected by the controller.
package accounting

// Prices are dollars per hour of one unit of a TRES, by Slurm's TRES name: "cpu", "mem" (per GiB), "node", "gres/gpu"
// (any type), "gres/gpu:h100". The most specific name wins; what has no price is free.
type Prices map[string]float64

package squeue

import "fsub/cmd/internal/option"

const usage = `Usage: squeue [-A account] [--clusters names] [-i seconds] [--job jobid]
              [-n name] [-o format] [--only-job-state] [-p partitions]
              [--qos qos] [--reservation reservation] [--sort fields] [--start]
              [--step step_id] [-t states] [-u user_name] [--usage]
              [-L licenses] [-w nodes] [--federation] [--local] [--sibling]
              [--expand-patterns] [--json=data_parser] [--yaml=data_parser]
              [-ahjlrsv]
`

var about = option.About{
	Name:  "squeue",
	Does:  "list the jobs of the federation that have not ended",
	Usage: []string{"squeue [OPTIONS]"},
	Text: "Lists the jobs of the federation that have not ended. A job has one row and one number, at whatever site it waits or runs. " +
		"All sites are one cluster here; with --clusters they are listed one after the other.",
}

// About describes squeue.
func About() option.About { return optionSet.About() }

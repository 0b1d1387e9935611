// Package ident has the names of jobs and sites, for the packages that package federation itself is made of. All others write federation.JobID
// and federation.SiteName.
package ident

import "strconv"

// JobID is the number that fsub prints and that the job has at its site, in SLURM_JOB_ID and in slurm-%j.out.
// IDs come from a range that no site's own counter reaches.
type JobID uint32

func (id JobID) String() string { return strconv.FormatUint(uint64(id), 10) }

// SiteName names one member of the federation: "alpha".
type SiteName string

package driver

import "fsub/federation"

// Alive is a first [federation.Mark] of a caller that knows the federation's jobs: the IDs, and the numbers at the site, of those that have not ended. What has
// ended at the site and is none of them need not be told. A driver may take it for the zero mark.
type Alive map[federation.JobID]bool

package golden

// Lines of squeue, scancel and sbatch.
var pendingListing = []string{
	`scancel 1.99`,
}

package golden

// Lines of squeue, scancel and sbatch.
var pendingListing []string

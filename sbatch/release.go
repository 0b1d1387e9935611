package sbatch

// Release is a release of Slurm, "24.11". Releases compare as texts do.
type Release string

// The releases whose sbatch was tried: 22.05.8, 24.11.5 and 26.05.5, on 2026-11-21.
const (
	Slurm2205 Release = "22.05"
	Slurm2411 Release = "24.11"
	Slurm2605 Release = "26.05"
)

// Following is the release whose sbatch fsub is.
const Following = Slurm2411

// Version is what --version says: programs ask for it and choose their options by it.
const Version = "24.11.5"

// Releases are those that [Input.Slurm] may name.
func Releases() []Release { return []Release{Slurm2205, Slurm2411, Slurm2605} }

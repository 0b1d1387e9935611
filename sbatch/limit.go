package sbatch

import "time"

// TimeLimit reads a length of time as --time takes it, in whole minutes: M, M:S, H:M:S, D-H, D-H:M,
// D-H:M:S, UNLIMITED.
func TimeLimit(s string) (time.Duration, bool) {
	d, _, ok := timeLimit(s)
	return d, ok
}

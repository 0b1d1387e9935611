// Package spine tests the whole path on real Slurm of two versions: fsub, daemon, slurmrestd, and what the job itself sees. Its
// tests are what the program promises to its users; everything below has suites of its own.
package spine

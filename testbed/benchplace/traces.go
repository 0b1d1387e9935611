package main

import (
	"fmt"
	"os"
	"path/filepath"

	"fsub/federation/replay"
	"fsub/federation/replay/trace"
)

// tracesFile is where a public trace is.
func tracesFile(name string) (string, error) {
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		return "", fmt.Errorf("%w: FSUB_ORACLE does not say where the traces are", errSkipped)
	}
	return filepath.Join(dir, "traces", name), nil
}

// readTrace reads the jobs of a trace: only the first ones if all is to be small.
func readTrace(file string) ([]replay.Job, error) {
	jobs, _, err := trace.Read(file, trace.Shape{})
	if small {
		jobs = jobs[:min(len(jobs), 3000)]
	}
	return jobs, err
}

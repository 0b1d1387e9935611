package squeue

import (
	"fmt"
	"io"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// printDocument writes --json or --yaml: what the daemon answers to programs, laid out for people.
// It is passed on as it comes.
func (c *command) printDocument(cluster string) error {
	status, body, err := c.caller.Stream(c.documentPath(cluster))
	if err != nil {
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	defer body.Close()
	if status >= 400 {
		reply, err := io.ReadAll(body)
		if err == nil {
			err = show.Refusal(reply)
		}
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	if err := show.Copy(c.stdout, body, c.document == "yaml"); err != nil {
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	return nil
}

func (c *command) documentPath(cluster string) string {
	if len(c.jobs) != 1 {
		return wire.Slurm(c.parser, wire.PathJobs) + c.query(cluster)
	}
	// The only case in which an unknown job is an error.
	id, _, _ := strings.Cut(c.jobs[0], "+")
	return wire.Slurm(c.parser, wire.PathJob) + id + c.query(cluster)
}

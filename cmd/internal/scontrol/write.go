package scontrol

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// write is "write batch_script ID [FILE|-]".
func (c *command) write(words []string) int {
	if !is(words[0], "batch_script", 3) {
		return c.fail("invalid write argument:%s", words[0])
	}
	var answer v1.PayloadResponse
	r, ok := parseRef(show.OwnTask(c.env, words[1]))
	err := error(&show.Failure{Number: wire.ErrJobID, Text: wire.Strerror(wire.ErrJobID)})
	if ok {
		err = show.Get(c.caller, "/fed/v1/job/"+r.ID.String()+"/payload", &answer)
	}
	if err != nil { // 24.11 does not fail then
		c.fail("job script retrieval failed: %s", err)
		return 0
	}
	payload := answer.Exact()
	name := "slurm-" + words[1] + ".sh"
	if len(words) > 2 {
		name = words[2]
	}
	if name == "-" {
		io.WriteString(c.stdout, payload.Script)
		return 0
	}
	if err := os.WriteFile(name, []byte(payload.Script), 0o644); err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		why := err.Error()
		c.fail("failed to open file `%s`: %s", name, strings.ToUpper(why[:1])+why[1:])
		return 0
	}
	fmt.Fprintf(c.stdout, "batch script for job %s written to %s\n", words[1], name)
	return 0
}

// waitJob is "wait_job ID": until the nodes of a job that was placed are up. It does not wait for a
// job to be placed.
func (c *command) waitJob(words []string) int {
	id := show.OwnTask(c.env, words[0])
	for {
		var resp wire.JobsResponse
		base, _, _ := strings.Cut(id, "+")
		err := show.Get(c.caller, wire.Slurm(restVersion, wire.PathJob)+base+"?sparse=1", &resp)
		if err != nil || len(resp.Jobs) == 0 {
			return c.fail("scontrol: Problem running job %s", words[0])
		}
		j := &resp.Jobs[0]
		switch {
		case show.State(j.State) == wire.FlagConfiguring:
		case wire.BaseState(j.State) == wire.StateRunning:
			c.fail("scontrol: Nodes are ready for job %s", words[0])
			return 0
		default:
			return c.fail("scontrol: Job %s no longer running", words[0])
		}
		time.Sleep(time.Second)
	}
}

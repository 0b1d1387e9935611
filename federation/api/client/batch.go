package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	v1 "fsub/federation/api/v1"
)

// SubmitAll submits jobs together: lines are [v1.BatchEntry] in JSON, one in each. key makes the same batch of the same call again; "": it is a new one each time.
func SubmitAll(ctx context.Context, c *Client, key string, lines []byte) (jobs []v1.BatchJob, err error) {
	const path = "/fed/v1/jobs/submit"
	resp, err := sendKeyed(ctx, c, "POST", path, "application/x-ndjson", key, bytes.NewReader(lines))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	in := json.NewDecoder(bufio.NewReader(resp.Body))
	for {
		var j v1.BatchJob
		switch err := in.Decode(&j); {
		case err == io.EOF:
			return nil, c.noAnswer(ctx, io.ErrUnexpectedEOF)
		case err != nil:
			return nil, fmt.Errorf("answer of POST %s: %w", path, err)
		case j.Jobs > 0:
			return jobs, nil
		}
		jobs = append(jobs, j)
	}
}

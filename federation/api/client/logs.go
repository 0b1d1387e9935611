package client

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

// LogRef names one output: of a job, or of a task of an array.
type LogRef struct {
	Job    federation.JobID
	Task   string // "" or an index
	Stderr bool
}

func (l LogRef) path(rest string, offset int64) string {
	q := url.Values{"stream": {"stdout"}}
	if l.Stderr {
		q.Set("stream", "stderr")
	}
	if l.Task != "" {
		q.Set("task", l.Task)
	}
	if offset > 0 {
		q.Set("offset", strconv.FormatInt(offset, 10))
	}
	return fmt.Sprintf("/fed/v1/job/%d/log%s?%s", l.Job, rest, q.Encode())
}

// Log says where an output is.
func (c *Client) Log(ctx context.Context, l LogRef) (*v1.Log, error) {
	return get[v1.Log](ctx, c, l.path("", 0))
}

// LogText reads a part of an output that comes through the daemon; word is what v1.LogHeader says of it.
func (c *Client) LogText(ctx context.Context, l LogRef, offset int64) (text []byte, word string, err error) {
	resp, err := c.open(ctx, l.path("/text", offset))
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	if text, err = io.ReadAll(resp.Body); err != nil {
		return nil, "", c.noAnswer(ctx, err)
	}
	return text, resp.Header.Get(v1.LogHeader), nil
}

package client

import (
	"context"
	"io"
)

// Copy writes the answer at a path as it is, such as a profile below /debug/.
func Copy(ctx context.Context, c *Client, path string, to io.Writer) error {
	resp, err := c.open(ctx, path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(to, resp.Body); err != nil {
		return c.noAnswer(ctx, err)
	}
	return nil
}

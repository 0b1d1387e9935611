package client

import (
	"context"
	"fmt"

	v1 "fsub/federation/api/v1"
)

// Health is what the rules of health know.
func (c *Client) Health(ctx context.Context) (*v1.Health, error) {
	return get[v1.Health](ctx, c, "/fed/v1/health")
}

// HealthHistory is what they have said, at most so many lines of it, oldest first.
func (c *Client) HealthHistory(ctx context.Context, limit int) ([]v1.HealthFinding, error) {
	out, err := get[[]v1.HealthFinding](ctx, c, fmt.Sprintf("/fed/v1/health/history?limit=%d", limit))
	return *out, err
}

// ResetHealth closes a breaker, or all of them, and returns which were open. Operators only.
func (c *Client) ResetHealth(ctx context.Context, breaker string) ([]string, error) {
	var out v1.ResetHealthResponse
	err := c.Do(ctx, "POST", "/fed/v1/health/reset", v1.ResetHealth{Breaker: breaker}, &out)
	return out.Breakers, err
}

// HealthCheck tells what a node's health check has found. Operators only.
func (c *Client) HealthCheck(ctx context.Context, q v1.HealthCheck) error {
	return c.Do(ctx, "POST", "/fed/v1/health/check", q, nil)
}

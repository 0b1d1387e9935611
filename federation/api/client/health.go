package client

import (
	"context"

	v1 "fsub/federation/api/v1"
)

// Health is what the rules of health know.
func (c *Client) Health(ctx context.Context) (*v1.Health, error) {
	return get[v1.Health](ctx, c, "/fed/v1/health")
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

package client

import (
	"context"

	v1 "fsub/federation/api/v1"
)

// WhatIf asks what would become of the jobs that wait if something were different.
func (c *Client) WhatIf(ctx context.Context, q v1.WhatIf) (out v1.WhatIfAnswer, err error) {
	err = c.Do(ctx, "POST", "/fed/v1/what-if", q, &out)
	return out, err
}

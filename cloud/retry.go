package cloud

import (
	"context"

	"fsub/federation"
)

// Retry implements federation.PoolTeller: an operator has mended what the cloud refused.
func (d *Driver) Retry(ctx context.Context) ([]federation.Cooling, error) {
	if err := d.isLoaded(ctx); err != nil {
		return nil, err
	}
	d.mu.Lock()
	forgiven := d.cool.retry()
	d.queue.schedule()
	batch := d.rec.Flush()
	d.mu.Unlock()
	return forgiven, d.rec.Durable(ctx, batch)
}

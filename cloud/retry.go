package cloud

import (
	"context"

	"fsub/cloud/records"
	"fsub/federation"
)

// Retry implements federation.PoolTeller: an operator has mended what the cloud refused.
func (d *Driver) Retry(ctx context.Context) ([]federation.Cooling, error) {
	if err := d.isLoaded(ctx); err != nil {
		return nil, err
	}
	var forgiven []federation.Cooling
	var batch *records.Batch
	d.locked(func() {
		forgiven = d.cool.retry()
		d.scheduler.schedule()
		batch = d.rec.Flush()
	})
	return forgiven, d.rec.Durable(ctx, batch)
}

package cloud

import (
	"context"

	"fsub/cloud/records"
	"fsub/federation/driver"
)

// Retry implements driver.PoolTeller: an operator has removed the cause of the refusals.
func (d *Driver) Retry(ctx context.Context) ([]driver.Cooling, error) {
	if err := d.isLoaded(ctx); err != nil {
		return nil, err
	}
	var forgiven []driver.Cooling
	var batch *records.Batch
	d.locked(func() {
		forgiven = d.cool.retry()
		d.scheduler.schedule()
		batch = d.rec.Flush()
	})
	return forgiven, d.rec.Durable(ctx, batch)
}

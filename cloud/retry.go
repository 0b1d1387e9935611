package cloud

import (
	"context"
	"slices"

	"fsub/federation"
)

// Retry implements federation.PoolTeller: an operator has mended what the cloud refused.
func (d *Driver) Retry(ctx context.Context) ([]federation.Cooling, error) {
	if err := d.isLoaded(ctx); err != nil {
		return nil, err
	}
	var forgiven []federation.Cooling
	d.mu.Lock()
	for key, c := range d.cool.down {
		if d.now().Before(c.Until) {
			forgiven = append(forgiven, federation.Cooling{What: key, Reason: reasonOf(c.Kind), Detail: c.Text, Until: c.Until})
		}
		d.cool.forgive(key)
	}
	slices.SortFunc(forgiven, func(a, b federation.Cooling) int { return a.Until.Compare(b.Until) })
	d.queue.schedule()
	batch := d.rec.Flush()
	d.mu.Unlock()
	return forgiven, d.rec.Durable(ctx, batch)
}

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
	for key, c := range d.cool {
		if d.now().Before(c.Until) {
			forgiven = append(forgiven, federation.Cooling{What: key, Reason: reasonOf(c.Kind), Detail: c.Text, Until: c.Until})
		}
		d.forgive(key)
	}
	slices.SortFunc(forgiven, func(a, b federation.Cooling) int { return a.Until.Compare(b.Until) })
	d.schedule()
	page := d.page
	poke(d.written)
	d.mu.Unlock()
	return forgiven, d.durable(ctx, page)
}

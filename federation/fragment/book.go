package fragment

import (
	"sync"

	"fsub/federation"
)

// Book scores sites by what is asked for, each once for each look at it. It is safe for concurrent use; the zero value is ready.
type Book struct {
	Asked

	seen sync.Map // federation.SiteName -> *scored
}

// scored is what was found by one look.
type scored struct {
	of     *federation.Observation
	scores []Score
}

// Of scores a site as it was seen last; nil if it has not been seen. The result is shared: it is not changed.
func (b *Book) Of(site *federation.Site) []Score {
	if site.Seen == nil {
		return nil
	}
	if last, ok := b.seen.Load(site.Name); ok && last.(*scored).of == site.Seen {
		return last.(*scored).scores
	}
	now := &scored{site.Seen, Of(site.Seen, b.Shares())}
	b.seen.Store(site.Name, now)
	return now.scores
}

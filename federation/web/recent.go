package web

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
)

// mostEvents of the last hour are shown, the newest.
const mostEvents = 60

// recentEvents are the newest events of sites and nodes, which are everybody's to know. They are followed by the log's marks: of an hour of events, pages that are open read only
// what is new.
type recentEvents struct {
	mu   sync.Mutex
	mark journal.Mark // up to which they were read
	last []v1.Event   // the newest last
}

// lastHour returns those of the last hour, the newest first.
func (e *recentEvents) lastHour(ctx context.Context, api *client.Client, now time.Time) ([]v1.Event, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	from := client.EventsFrom{After: e.mark, Where: []string{"event!=submit,bind,start,end,suspend,resume,requeue,request"}}
	if e.mark == 0 {
		from.Since = now.Add(-time.Hour)
	}
	var fresh []v1.Event
	mark, err := api.Events(ctx, from, func(x *v1.Event) error {
		if fresh = append(fresh, *x); len(fresh) > 2*mostEvents {
			fresh = slices.Delete(fresh, 0, mostEvents)
		}
		return nil
	})
	if errors.Is(err, federation.ErrTrimmed) { // nobody has looked for long: again from an hour ago, the next time
		e.mark, e.last = 0, nil
	}
	if err != nil {
		return nil, err
	}
	e.mark, e.last = mark, append(e.last, fresh...)
	e.last = slices.Clone(e.last[max(len(e.last)-mostEvents, 0):])
	out := slices.DeleteFunc(slices.Clone(e.last), func(x v1.Event) bool { return now.Sub(x.Time) > time.Hour })
	slices.Reverse(out)
	return out, nil
}

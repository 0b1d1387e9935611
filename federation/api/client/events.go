package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
)

// EventsFrom says which events to read: those after a mark, else those since a time, else those that come. With Follow there is no end.
type EventsFrom struct {
	After  journal.Mark
	Since  time.Time
	Follow bool
	Where  []string // conditions: see GET /fed/v1/events
}

// Events calls f with one event after the other, until there are no more or f fails. It returns the mark to go on from: what f has been
// given since that comes again.
func (c *Client) Events(ctx context.Context, from EventsFrom, f func(*v1.Event) error) (journal.Mark, error) {
	query := v1.URLQuery(&v1.EventQuery{After: int64(from.After), Since: from.Since, Follow: from.Follow, Where: from.Where})
	resp, err := c.open(ctx, "/fed/v1/events?"+query.Encode())
	if err != nil {
		return from.After, err
	}
	defer resp.Body.Close()
	lines, whole := bufio.NewScanner(resp.Body), false
	for lines.Scan() {
		var line struct {
			v1.EventsMark
			v1.Event
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return from.After, fmt.Errorf("answer of GET /fed/v1/events: %w", err)
		}
		if whole = line.Event.Event == ""; whole {
			from.After = journal.Mark(line.Mark)
		} else if err := f(&line.Event); err != nil {
			return from.After, err
		}
	}
	if err := lines.Err(); err != nil || !whole || from.Follow {
		return from.After, c.noAnswer(ctx, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return from.After, nil
}

package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fsub/cloud/records"
)

// A daemon that crashes again and again must not ask the cloud the same again and again: its starts are in the records, and one that comes after too many
// others leaves the cloud alone for a while. The machines' agents are served meanwhile.
const (
	livesWithin = 10 * time.Minute
	livesFree   = 60 // starts within that time of which nothing is thought
	livesRest   = 5 * time.Second
	livesMost   = time.Minute
)

// lifeRecord is when daemons have started, the last first.
type lifeRecord struct {
	Starts []time.Time `json:"starts"`
}

const lifeID = "starts"

// starts is how often the daemon has started lately, and how long the cloud is left alone for that.
type starts struct {
	*base
	rest time.Time // set before anybody looks
}

// enter enters a start in the records, after those of before, and finds out how long the cloud is to be left alone.
func (s *starts) enter(ctx context.Context, written []records.PoolRecord, now time.Time) error {
	life := lifeRecord{Starts: []time.Time{now}}
	for _, at := range startsIn(written) {
		if now.Sub(at) < livesWithin && len(life.Starts) < 2*livesFree {
			life.Starts = append(life.Starts, at)
		}
	}
	if more := len(life.Starts) - livesFree; more > 0 {
		rest := min(time.Duration(more)*livesRest, livesMost)
		s.log.Warn("the daemon has started again and again: the cloud is left alone for a while", "starts", len(life.Starts), "within", livesWithin, "for", rest)
		s.rest = now.Add(rest)
	}
	data, err := json.Marshal(&life)
	if err != nil {
		return err
	}
	err = s.cfg.Store.CommitPool(ctx, s.cfg.Site, []records.PoolRecord{{Site: s.cfg.Site, Kind: records.PoolLife, ID: lifeID, Data: data}})
	if err != nil {
		return fmt.Errorf("record the daemon's start: %w", err)
	}
	return nil
}

func startsIn(written []records.PoolRecord) []time.Time {
	var life lifeRecord
	for _, r := range written {
		if r.Kind == records.PoolLife && json.Unmarshal(r.Data, &life) != nil {
			return nil // it counts anew
		}
	}
	return life.Starts
}

// rested waits until the cloud may be asked; false: ctx is done.
func (s *starts) rested(ctx context.Context) bool {
	return ctx.Err() == nil && sleep(ctx, max(s.rest.Sub(s.now()), 0))
}

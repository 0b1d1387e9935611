package agent

import (
	"context"
	"errors"
	"net/url"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/steps/wire"
	"fsub/federation/tunnel"
)

// streamTime is how long a connection that was ordered is tried. The daemon does not wait longer.
const streamTime = 10 * time.Second

// obeyStreams makes the connections that were ordered. Orders are repeated whole, and each is made once. a.mu is held.
func (a *Agent) obeyStreams(orders []agentapi.Stream) {
	old := a.streams
	a.streams = map[string]bool{}
	for _, s := range orders {
		a.streams[s.ID] = true
		r := a.runs[s.Run]
		if old[s.ID] || r == nil || !r.head {
			continue
		}
		go func() {
			if err := r.connect(s.ID); err != nil {
				a.log.Warn("a connection to a run was not made", "run", s.Run, "err", err)
			}
		}()
	}
}

// connect joins the daemon and the run's step service, for as long as both are there and the run lives.
func (r *run) connect(id string) error {
	r.mu.Lock()
	info := r.outer
	r.mu.Unlock()
	if info == nil {
		return errors.New("its script has not begun")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-r.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	daemon, err := r.a.stream(ctx, id)
	if err != nil {
		return err
	}
	defer daemon.Close()
	if err := wire.NewWriter(daemon).WriteJSON(wire.Job, 0, info); err != nil {
		return err
	}
	service, err := r.steps.dial()
	if err != nil {
		return err
	}
	tunnel.Join(ctx, daemon, service)
	return nil
}

// stream connects to the daemon that has ordered it. Where there are several, one that does not lead may answer first.
func (a *Agent) stream(ctx context.Context, id string) (*tunnel.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, streamTime)
	defer cancel()
	for wait := newBackoff(); ; {
		c, err := a.server.stream(ctx, agentapi.PathStream+url.PathEscape(id), a.server.session)
		if err == nil || errors.Is(err, tunnel.ErrNone) || wait.sleep(ctx) != nil {
			return c, err
		}
	}
}

package cloud

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/tunnel"
)

// streamWait is one who waits for a machine to connect. The channel has room for one connection. Only the goroutine that removes the wait from its machine
// fills the channel, or reads it.
type streamWait struct {
	run  string
	conn chan tunnel.End // closed without one where the connection broke
}

// streamTime is how long a machine may take to connect: its agent asks for orders all the time.
const streamTime = 10 * time.Second

// Connect implements driver.Connector.
func (d *Driver) Connect(ctx context.Context, id federation.JobID) (driver.Tunnel, error) {
	if err := d.isLoaded(ctx); err != nil {
		return nil, err
	}
	wait, token := &streamWait{conn: make(chan tunnel.End, 1)}, rand.Text()
	var head *machine
	d.mu.Lock()
	if j := d.jobs.byID[id]; j != nil && j.run != nil && j.run.End == nil && j.run.visible && j.run.Members[0].State == agentapi.RunRunning {
		wait.run, head = j.run.ID, j.run.machines[0]
		head.streams[token] = wait
		head.bump()
	}
	d.mu.Unlock()
	if head == nil {
		return nil, fmt.Errorf("job %d does not run: %w", id, federation.ErrConflict)
	}
	late := time.NewTimer(streamTime)
	defer late.Stop()
	select {
	case c, ok := <-wait.conn:
		return connected(head, c, ok)
	case <-late.C:
	case <-ctx.Done():
	}
	if d.takeStream(head, token) != nil {
		return nil, fmt.Errorf("machine %s has not connected within %s: %w", head.id, streamTime, federation.ErrUnavailable)
	}
	c, ok := <-wait.conn // it comes just now
	return connected(head, c, ok)
}

func connected(m *machine, c tunnel.End, ok bool) (tunnel.End, error) {
	if !ok {
		return nil, fmt.Errorf("the connection of machine %s broke: %w", m.id, federation.ErrUnavailable)
	}
	return c, nil
}

// takeStream ends the wait for a connection: the machine is not told of it any more. nil: there is none.
func (b *base) takeStream(m *machine, id string) *streamWait {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := m.streams[id]
	delete(m.streams, id)
	return w
}

// Stream implements Agents.
func (a *agents) Stream(id MachineID, token string, accept func() (tunnel.End, error)) error {
	a.mu.Lock()
	m, err := a.fleet.machine(id)
	a.mu.Unlock()
	if err != nil {
		return err
	}
	w := a.takeStream(m, token)
	if w == nil {
		return fmt.Errorf("nobody waits for this connection: %w", federation.ErrNotFound)
	}
	c, err := accept()
	if err != nil {
		close(w.conn)
		return err
	}
	w.conn <- c
	return nil
}

var _ driver.Connector = (*Driver)(nil)

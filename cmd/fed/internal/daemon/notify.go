package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"sync/atomic"
	"time"

	"fsub/cmd/fed/internal/config"
	"fsub/federation/health"
)

// notifier passes findings on to those whom the configuration names. It is safe for concurrent use.
type notifier struct {
	log   *slog.Logger
	to    atomic.Pointer[config.Health] // as it is now
	queue chan health.Finding
}

func newNotifier(c *config.Health, log *slog.Logger) *notifier {
	n := &notifier{log: log, queue: make(chan health.Finding, 100)}
	n.use(c)
	go func() {
		for f := range n.queue {
			text, err := json.Marshal(f)
			if err == nil {
				err = notify(n.to.Load(), text)
			}
			if err != nil {
				log.Error("notify of a finding", "rule", f.Rule, "err", err)
			}
		}
	}()
	return n
}

// use has those told from now on whom c names.
func (n *notifier) use(c *config.Health) {
	own := *c
	n.to.Store(&own)
}

// tell passes a finding on. It returns at once; where findings come faster than they are taken, some are left out and that is logged: the history has them all.
func (n *notifier) tell(f health.Finding) {
	if silent(n.to.Load()) {
		return
	}
	select {
	case n.queue <- f:
	default:
		n.log.Error("notify of a finding: too many at once", "rule", f.Rule)
	}
}

func silent(c *config.Health) bool { return len(c.Notify) == 0 && c.Webhook == "" }

// notifyTime bounds one notification.
const notifyTime = 30 * time.Second

func notify(c *config.Health, text []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), notifyTime)
	defer cancel()
	if len(c.Notify) > 0 {
		cmd := exec.CommandContext(ctx, c.Notify[0], c.Notify[1:]...)
		cmd.Stdin = bytes.NewReader(text)
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", c.Notify[0], err, bytes.TrimSpace(out[:min(len(out), 500)]))
		}
	}
	if c.Webhook == "" {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, "POST", c.Webhook, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s answers %s", c.Webhook, resp.Status)
	}
	return nil
}

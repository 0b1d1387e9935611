package bed

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// StopService ends a daemon with SIGTERM and waits until it is gone. slurmctld saves its state first.
func (b *Bed) StopService(site, name string) error { return b.endService(site, name, unix.SIGTERM) }

// KillService ends a daemon with SIGKILL and waits until it is gone.
func (b *Bed) KillService(site, name string) error { return b.endService(site, name, unix.SIGKILL) }

func (b *Bed) endService(site, name string, sig unix.Signal) error {
	_, v, err := b.service(site, name)
	if err != nil {
		return err
	}
	holder, ok := b.holder(site)
	if !ok {
		return errDown(site)
	}
	return end(holder, v, sig, endLimit)
}

var errStillRuns = errors.New("still runs")

// againAfter is how long to wait before a slurmd is sent the signal again. A SIGTERM that reaches it while it starts, before it
// waits for connections, is noted and not acted on until something wakes it.
const againAfter = 2 * time.Second

// end signals a service and waits until it is gone.
func end(holder procID, v service, sig unix.Signal, limit time.Duration) error {
	pid, err := pidOf(holder, v)
	if err != nil || pid == 0 {
		return err
	}
	p, err := identify(pid)
	if err != nil {
		return nil // gone in between
	}
	if err := signal(pid, sig); err != nil {
		return err
	}
	again := time.Now().Add(againAfter)
	for deadline := time.Now().Add(limit); !p.gone(); time.Sleep(5 * time.Millisecond) {
		now := time.Now()
		if now.After(deadline) {
			return fmt.Errorf("%s %w %s after %v", v.name, errStillRuns, limit, sig)
		}
		if now.After(again) && strings.HasPrefix(v.name, "slurmd:") {
			if err := signal(pid, sig); err != nil {
				return err
			}
			again = now.Add(againAfter)
		}
	}
	return nil
}

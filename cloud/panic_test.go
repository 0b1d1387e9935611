package cloud_test

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/federation"
)

// A panic in a handler of agents, or in a call of the controller, leaves the lock free. A machine that it happened over is ended, so that its job does not
// stay for ever, and others run.
func TestPanicUnderTheLock(t *testing.T) {
	const machine = cloud.MachineID("sky:1.0")
	for where, call := range map[string]func(w *world, id federation.JobID) error{
		"agents).Poll": func(w *world, _ federation.JobID) error {
			_, err := w.driver.Agents().Poll(context.Background(), machine, agentapi.Poll{})
			return err
		},
		"agents).Report": func(w *world, _ federation.JobID) error {
			return w.driver.Agents().Report(context.Background(), machine, agentapi.Report{Notice: &agentapi.Notice{Kind: agentapi.NoticePreempt}})
		},
		"Driver).act": func(w *world, id federation.JobID) (err error) {
			defer func() { // as the controller does
				if recover() != nil {
					err = federation.ErrUnavailable
				}
			}()
			return w.driver.Cancel(context.Background(), federation.JobRef{ID: id}, nil)
		},
	} {
		t.Run(where[strings.Index(where, ".")+1:], func(t *testing.T) {
			bubble(t, func(w *world) {
				var armed atomic.Bool
				w.cfg.Now = func() time.Time {
					if armed.Load() && strings.Contains(string(debug.Stack()), where) {
						armed.Store(false)
						panic("planted")
					}
					return time.Now()
				}
				w.ready()
				id := w.submit("sleep 600", nil)
				w.wants(id, federation.Running, time.Minute)
				armed.Store(true)
				err := call(w, id)
				if armed.Load() {
					t.Fatal("it did not panic")
				}
				if !errors.Is(err, federation.ErrUnavailable) {
					t.Errorf("answered with %v", err)
				}
				if strings.HasPrefix(where, "agents).P") || strings.HasPrefix(where, "agents).R") {
					w.wants(id, federation.NodeFail, 5*time.Minute)
				}
				w.wants(w.submit("sleep 5", nil), federation.Completed, 5*time.Minute)
			})
		})
	}
}

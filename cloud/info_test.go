package cloud_test

import (
	"context"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
)

// TestNodeInfo: a machine is a node of which Slurm's commands can show as much as of one with slurmd; one that has not been started tells nothing.
func TestNodeInfo(t *testing.T) {
	byHand(t, func(w *world) {
		w.submit("true", nil)
		head := w.let()[0]
		rep := agentapi.Report{Load: &agentapi.Load{Load1: 1.25, FreeMi: 900}}
		if err := w.driver.Agents().Report(context.Background(), head, rep); err != nil {
			t.Fatal(err)
		}
		at, over := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer over()
		w.driver.Agents().Poll(at, head, agentapi.Poll{Problems: []agentapi.Problem{{Code: "check-gpu", Text: "Xid 79"}}})
		o, err := w.driver.Observe(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, n := range o.Nodes {
			if n.Info == nil {
				continue
			}
			told++
			i := *n.Info
			if i.Started.IsZero() || i.Booted.After(i.Started) || time.Since(i.LastBusy) > time.Second {
				t.Errorf("times %+v", i)
			}
			if i.Extra != `fed-health:[{"code":"check-gpu","text":"Xid 79"}]` {
				t.Errorf("extra is %q", i.Extra)
			}
			i.Started, i.Booted, i.LastBusy = time.Time{}, time.Time{}, time.Time{}
			want := federation.NodeInfo{Hostname: n.Name, Address: w.cloud.Living()[0].Addr, Version: "fsub", CPULoad: 125, FreeMem: 900}
			if i.Hostname != want.Hostname || i.Address != want.Address || i.Version != want.Version || i.CPULoad != want.CPULoad || i.FreeMem != want.FreeMem {
				t.Errorf("told %+v, want %+v", i, want)
			}
		}
		if told != 1 {
			t.Errorf("%d nodes tell of themselves, one machine is up", told)
		}
	})
}

// TestExclusivePool: a pool whose jobs have machines to themselves says so in Slurm's word.
func TestExclusivePool(t *testing.T) {
	for _, shared := range []bool{false, true} {
		bubble(t, func(w *world) {
			w.cfg.Pools[0].Shared = shared
			w.ready()
			o, err := w.driver.Observe(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if info := o.Partitions[0].Info; shared != (info == nil) || info != nil && info.OverSubscribe != "EXCLUSIVE" {
				t.Errorf("shared %v: %+v", shared, info)
			}
		})
	}
}

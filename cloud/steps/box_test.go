package steps

import (
	"context"
	"syscall"
	"testing"

	"fsub/cloud/steps/wire"
)

// fences note which are over.
type fences struct {
	mpi
	over []string
}

func (f *fences) met(m wire.Meeting) error {
	f.over = append(f.over, string(m.Data))
	return nil
}

// TestEarlyFrames: what comes for tasks while some of them start in their container is theirs all the same, and in order. The first of them may be at a fence already.
func TestEarlyFrames(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fences{}
	d := &daemon{mpi: f, box: &box{cancel: cancel}}
	met := func(data string) wire.Frame {
		return wire.Frame{Kind: wire.Met, Payload: []byte(`{"data":"` + data + `"}`)}
	}
	if !d.box.later(wire.Frame{Kind: wire.Signal, N: uint32(syscall.SIGTERM)}) || ctx.Err() == nil || d.box.signal != syscall.SIGTERM {
		t.Error("a signal does not end the container's making")
	}
	d.box = &box{cancel: func() { t.Error("the making of a container that is made is ended") }, made: true}
	buffer := met("b25l")
	for _, k := range []wire.Kind{wire.Signal, wire.Kill} {
		if !d.box.later(wire.Frame{Kind: k, N: uint32(syscall.SIGTERM)}) {
			t.Error("it goes to some of the tasks only")
		}
	}
	if len(d.box.early) != 2 || d.box.signal != 0 {
		t.Errorf("%+v", d.box.early)
	}
	d.box.early = nil // not to this process
	if !d.box.later(buffer) {
		t.Error("given before the tasks are there")
	}
	copy(buffer.Payload, met("eHh4").Payload) // the reader uses its buffer again
	d.box.later(met("dHdv"))
	d.box.begin(d)
	if d.box.later(met("")) {
		t.Error("kept after the tasks have begun")
	}
	if got := f.over; len(got) != 2 || got[0] != "one" || got[1] != "two" {
		t.Errorf("the tasks were told of %q", got)
	}
}

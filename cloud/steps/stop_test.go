package steps

import (
	"bytes"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/steps/wire"
)

// kinds are those of frames that were written.
func kinds(t *testing.T, b *bytes.Buffer) (list []wire.Kind) {
	t.Helper()
	for in := wire.NewReader(b); ; {
		f, err := in.Read()
		if err != nil {
			return list
		}
		if f.Kind == wire.Kill && f.N != 3000 {
			t.Errorf("killed after %d ms", f.N)
		}
		list = append(list, f.Kind)
	}
}

// TestEarlyStop: a step that is ended before all of its nodes are connected is ended on those too, and nothing is said of it before srun knows of it.
func TestEarlyStop(t *testing.T) {
	for _, before := range []bool{true, false} {
		var srun, first, second bytes.Buffer
		l := launch("a", 1, 1, 1)
		st := &step{launch: l, out: wire.NewWriter(&srun), shares: []share{{}, {node: 1}}}
		stop := func() { st.stop(Stop{Why: agentapi.WhyCancel, Grace: 3 * time.Second}) }
		if before {
			stop()
			if srun.Len() > 0 {
				t.Errorf("said before the step is known: %q", srun.Bytes())
			}
		}
		st.begin(2)
		st.connected(0, nil, wire.NewWriter(&first))
		if !before {
			stop()
		}
		st.connected(1, nil, wire.NewWriter(&second))
		stop()
		for node, b := range []*bytes.Buffer{&first, &second} {
			if got := kinds(t, b); !slices.Equal(got, []wire.Kind{wire.Kill}) {
				t.Errorf("before %v, node %d was told %v", before, node, got)
			}
		}
		if got := kinds(t, &srun); !slices.Equal(got, []wire.Kind{wire.Cancelled}) {
			t.Errorf("before %v, srun was told %v", before, got)
		}
	}
}

// TestEarlySignal: a signal goes to all nodes, once they are connected.
func TestEarlySignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var srun, node bytes.Buffer
		st := &step{launch: launch("a", 1, 1), out: wire.NewWriter(&srun), shares: []share{{}}, ready: make(chan struct{}), done: make(chan struct{})}
		st.signal(syscall.SIGTERM)
		synctest.Wait()
		if srun.Len() > 0 {
			t.Errorf("said before the step is known: %q", srun.Bytes())
		}
		st.begin(1)
		st.connected(0, nil, wire.NewWriter(&node))
		close(st.ready)
		synctest.Wait()
		st.signal(syscall.SIGUSR1)
		if got := kinds(t, &node); !slices.Equal(got, []wire.Kind{wire.Signal, wire.Signal}) {
			t.Errorf("the node was told %v", got)
		}
		if got := kinds(t, &srun); !slices.Equal(got, []wire.Kind{wire.Stderr}) {
			t.Errorf("srun was told %v", got)
		}
	})
}

// TestSignalOrder: signals reach a node in the order in which they came, also those that came before it was connected. Of those that stop it or let it go on
// only the last counts.
func TestSignalOrder(t *testing.T) {
	const stop, tstp, cont, usr1, usr2 = syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGUSR1, syscall.SIGUSR2
	for _, c := range []struct{ early, late, want []syscall.Signal }{
		{[]syscall.Signal{tstp, stop, stop, cont}, nil, []syscall.Signal{cont}},
		{[]syscall.Signal{tstp, stop, cont}, []syscall.Signal{stop, cont}, []syscall.Signal{cont}},
		{[]syscall.Signal{cont, tstp, stop}, []syscall.Signal{cont}, []syscall.Signal{cont}},
		{[]syscall.Signal{stop, usr1, cont, usr2}, []syscall.Signal{stop}, []syscall.Signal{usr1, usr2, stop}},
		{[]syscall.Signal{usr1, usr2, usr1}, []syscall.Signal{usr2, stop}, []syscall.Signal{usr1, usr2, usr1, usr2, stop}},
		{nil, []syscall.Signal{stop, cont, usr1}, []syscall.Signal{stop, cont, usr1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var srun, node bytes.Buffer
			st := &step{launch: launch("a", 1, 1), out: wire.NewWriter(&srun), shares: []share{{}}, ready: make(chan struct{}), done: make(chan struct{})}
			for _, sig := range c.early {
				st.signal(sig)
			}
			st.begin(1)
			st.connected(0, nil, wire.NewWriter(&node))
			close(st.ready)
			for _, sig := range c.late { // whoever sends the early ones may have begun, or not
				st.signal(sig)
			}
			synctest.Wait()
			var got []syscall.Signal
			for in := wire.NewReader(&node); ; {
				f, err := in.Read()
				if err != nil {
					break
				}
				got = append(got, syscall.Signal(f.N))
			}
			last := func(list []syscall.Signal) (s syscall.Signal) {
				for _, sig := range list {
					if jobControl(sig) {
						s = sig
					}
				}
				return s
			}
			others := func(list []syscall.Signal) []syscall.Signal { return slices.DeleteFunc(slices.Clone(list), jobControl) }
			if last(got) != last(c.want) || !slices.Equal(others(got), others(c.want)) || len(c.late) == 0 && !slices.Equal(got, c.want) {
				t.Errorf("%v, then %v: the node got %v, not %v", c.early, c.late, got, c.want)
			}
		})
	}
}

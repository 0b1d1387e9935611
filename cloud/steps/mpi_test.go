package steps

import (
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"fsub/cloud/steps/wire"
)

// TestSayLater: a server for MPI programs that has something to say does not wait for the agent, which hears of it in its order; the step's end waits, but not forever.
func TestSayLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, node := net.Pipe()
		up := &mpiUp{d: &daemon{n: &wire.NodeLaunch{}, out: wire.NewWriter(node)}}
		up.wait() // nothing is to be said
		for _, text := range []string{"a", "b", "c"} {
			up.Send(1, []byte(text))
		}
		up.Fence([]byte("d"))
		began := time.Now()
		if up.wait(); time.Since(began) != sayTime {
			t.Errorf("the end waits %v", time.Since(began))
		}
		var got []string
		for in := wire.NewReader(agent); len(got) < 4; {
			f, err := in.Read()
			if err != nil {
				t.Fatal(err)
			}
			m, err := wire.JSON[wire.Meeting](f)
			if err != nil || f.Kind != wire.Meet || m.Direct != (len(got) < 3) {
				t.Errorf("%v, %v", f, err)
			}
			got = append(got, string(m.Data))
		}
		if want := []string{"a", "b", "c", "d"}; !slices.Equal(got, want) {
			t.Errorf("the agent hears %q, want %q", got, want)
		}
		up.wait()
		agent.Close()
		up.Send(1, []byte("late")) // nobody hears it, and nobody waits
		up.wait()
	})
}

package agentserver

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"fsub/federation"
)

// Most concurrent requests of one machine, and of the commands inside one job: much more than either needs,
// and too few to starve others. Further requests are told to try again.
const (
	machineAtOnce = 1024
	runAtOnce     = 256
)

// tellAtOnce is how many polls and reports of one machine are held at a time: they are large, and an agent sends one of each. A broken connection may hold some
// more for a while.
const tellAtOnce = 8

// Bounds of a request's header, and of the bodies of hello and poll.
const (
	maxHeader = 64 << 10
	maxHello  = 1 << 20
	maxPoll   = 4 << 20
)

// silence is how long a client may take to send the next bytes of a piece of output, or to read the next
// ones of a response.
const silence = time.Minute

// atOnce counts the requests in progress of each client.
type atOnce struct {
	most int
	mu   sync.Mutex
	now  map[string]int
}

// take counts one more request until done is called. It returns ErrUnavailable if there are too many.
func (a *atOnce) take(who string) (done func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now == nil {
		a.now = map[string]int{}
	}
	if a.now[who] >= a.most {
		return nil, fmt.Errorf("%w: more than %d requests at once; try again", federation.ErrUnavailable, a.most)
	}
	a.now[who]++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.now[who]--; a.now[who] == 0 {
			delete(a.now, who)
		}
	}, nil
}

// lively reads a body as long as bytes arrive: a client that stalls would hold its file open forever.
type lively struct {
	io.Reader
	rc   *http.ResponseController
	wait time.Duration
}

func (l *lively) Read(p []byte) (int, error) {
	_ = l.rc.SetReadDeadline(time.Now().Add(l.wait)) // not every connection has one
	return l.Reader.Read(p)
}

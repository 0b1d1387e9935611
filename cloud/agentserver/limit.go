package agentserver

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"fsub/federation"
)

// What one machine, and the commands inside one job, may ask for at a time: much more than either needs, and less than would keep others out. What is too much is told to come again.
const (
	machineAtOnce = 1024
	runAtOnce     = 256
)

// maxHeader bounds a request's header, maxHello and maxPoll what is said in these.
const (
	maxHeader = 64 << 10
	maxHello  = 1 << 20
	maxPoll   = 4 << 20
)

// silence is how long the other side of a connection may take to send the next bytes of a piece of output, or to take the next ones of an answer.
const silence = time.Minute

// atOnce counts requests that are being answered, by whom they are from.
type atOnce struct {
	most int
	mu   sync.Mutex
	now  map[string]int
}

// take counts one more; done takes it back. ErrUnavailable: there are too many.
func (a *atOnce) take(who string) (done func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now == nil {
		a.now = map[string]int{}
	}
	if a.now[who] >= a.most {
		return nil, fmt.Errorf("%w: %d requests at one time are enough; ask again", federation.ErrUnavailable, a.most)
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

// lively reads a body as long as something comes. What is sent so slowly that it would take for ever holds the file that it goes to.
type lively struct {
	io.Reader
	rc   *http.ResponseController
	wait time.Duration
}

func (l *lively) Read(p []byte) (int, error) {
	_ = l.rc.SetReadDeadline(time.Now().Add(l.wait)) // not every connection has one
	return l.Reader.Read(p)
}

package steps

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fsub/cloud/steps/wire"
)

var (
	errMemory = errors.New("the job's steps need more than the memory")
	errWords  = errors.New("srun and this agent do not understand each other")
)

// memory bounds the bytes that the agent, which is outside of every job's cgroup, holds at a time
// for one run: for requests, launches and frames that are large. What is small, a connection's
// buffers, maxSruns bounds.
type memory struct {
	most int

	mu   sync.Mutex
	held int
}

// maxMemory is the bound, or an eighth of the machine's memory if that is less. Thousands of sruns
// with a usual environment have room.
const maxMemory = 512 << 20

func newMemory() *memory {
	m := &memory{most: maxMemory}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.most = int(min(maxMemory, uint64(info.Totalram)*uint64(info.Unit)/8))
	}
	return m
}

// take holds so many bytes, or gives back if they are less than 0, which never fails.
func (m *memory) take(n int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > 0 && m.held+n > m.most {
		return fmt.Errorf("%w of %d MiB that the agent of this node has for them at a time: start fewer at once, or with less in their environment and words", errMemory, m.most>>20)
	}
	m.held += n
	return nil
}

// memoryPause is how often await looks again.
const memoryPause = 10 * time.Millisecond

// await is take for what is needed for a moment only. It waits for others; what can never be had is refused.
func (m *memory) await(ctx context.Context, n int) error {
	for {
		err := m.take(n)
		if err == nil || n > m.most {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(memoryPause):
		}
	}
}

// holding is what one connection has of a run's memory. It is safe for concurrent use.
type holding struct {
	m *memory

	mu    sync.Mutex
	bytes int
	over  bool
}

func (m *memory) holding() *holding { return &holding{m: m} }

// add holds more bytes, or less. After close it does nothing.
func (h *holding) add(n int) error {
	if h == nil || n == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return nil
	}
	err := h.m.take(n)
	if err == nil {
		h.bytes += n
	}
	return err
}

// frames has the large buffers of a Reader held, and the copy of each that is written on.
func (h *holding) frames(r *wire.Reader) *wire.Reader {
	r.Held = func(n int) error { return h.add(2 * n) }
	return r
}

// close gives all back.
func (h *holding) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	_ = h.m.take(-h.bytes)
}

// request reads a request, and holds what is kept of it until the hold is closed. A few bytes of
// JSON may become large values, so it is weighed before.
func (h *holding) request(f wire.Frame) (wire.Request, error) {
	before := weight(f.Payload)
	if err := h.add(before); err != nil {
		return wire.Request{}, err
	}
	req, err := wire.JSON[wire.Request](f)
	if err != nil {
		return req, errWords
	}
	return req, h.add(min(0, requestSize(&req)-before)) // what was needed to read it is free again
}

const (
	partSize    = int(unsafe.Sizeof(wire.Part{}))
	programSize = int(unsafe.Sizeof(wire.Program{}))
	stringSize  = int(unsafe.Sizeof(""))
)

// weight is how many bytes a request may take while it is read: a list grows by doubling. Elements
// of lists in the outermost object are parts, other objects at most as large as a program.
func weight(text []byte) int {
	depth, quoted, n := 0, false, 2*len(text)+2*partSize
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			n += 2 * programSize
		case c == '}' || c == ']':
			depth--
		case c == 'n': // null, in the place of an object
			n += 2 * programSize
		case c == ',' && depth == 2:
			n += 2 * partSize
		case c == ',':
			n += 2 * stringSize
		}
	}
	return n
}

// requestSize is how many bytes a request takes.
func requestSize(r *wire.Request) int {
	n := len(r.Receive) + len(r.Name) + len(r.Host) + cap(r.Parts)*partSize
	for i := range r.Parts {
		p := &r.Parts[i]
		n += wordsSize(p.Argv) + wordsSize(p.Env) + wordsSize(p.Ask.Nodes) + cap(p.Programs)*programSize + cap(p.Limits)*stringSize
		for k := range p.Programs {
			n += wordsSize(p.Programs[k].Argv) + 8*cap(p.Programs[k].Ranks)
		}
	}
	return n
}

func wordsSize(words []string) int {
	n := cap(words) * stringSize
	for _, w := range words {
		n += len(w)
	}
	return n
}

// launchSize is about how many bytes a launch has as a frame.
func launchSize(l *wire.NodeLaunch) int {
	n := len(l.Receive) + wordsSize(l.Part.Env) + wordsSize(l.Part.Argv) + 16*len(l.Nodes)
	for i := range l.Part.Programs {
		n += wordsSize(l.Part.Programs[i].Argv) + 8*len(l.Part.Programs[i].Ranks)
	}
	for i := range l.Tasks {
		n += wordsSize(l.Tasks[i].Argv) + wordsSize(l.Tasks[i].Env)
	}
	return n
}

// room waits until there is memory for sending a launch: the same words are there for every task.
// The caller gives it back.
func (r *run) room(ctx context.Context, l *wire.NodeLaunch) (back func(), err error) {
	size := launchSize(l)
	if size > wire.MaxPayload {
		return nil, fmt.Errorf("the words and environments of a node's %d tasks take %d MiB, and a step may have %d", len(l.Ranks), size>>20, wire.MaxPayload>>20)
	}
	const copies = 3
	if err := r.memory.await(ctx, copies*size); err != nil {
		return nil, err
	}
	return func() { _ = r.memory.take(-copies * size) }, nil
}

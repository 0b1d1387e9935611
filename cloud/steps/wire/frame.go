// Package wire is what srun, the step services and the step daemons say to each other: frames with
// a kind, a number and a payload, the same on every line, so that whoever stands between can pass
// them on unread. The payload of most frames is bytes of a task's stream; of the others it is JSON
// of the shapes in this package.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Relay is the command on the machines of jobs that connects fed forward to a port there.
const Relay = "fsub-relay"

// SocketEnv names the variable by which a job's srun finds the step service of its machine.
const SocketEnv = "FSUB_STEPS"

// Kind is what a frame is.
type Kind uint8

// From srun on. N is a rank or All, unless it says otherwise.
const (
	Create Kind = iota + 1 // Request: the first frame
	Stdin                  // bytes; none: the end
	Signal                 // N is the signal's number: to all tasks
	Kill                   // as scancel does: words, SIGCONT and SIGTERM, SIGKILL after a while. N is the grace in milliseconds
	Window                 // Size of the terminal
	Launch                 // NodeLaunch: the first frame to a step daemon
	Met                    // Meeting that is over: Data is that of all its nodes, one after the other
)

// To srun.
const (
	Say       Kind = iota + 64 // bytes: a line for its stderr, without "srun: "
	Created                    // Layout
	Refused                    // bytes: why there is no step; sent first, and then nothing
	Started                    // N is the node's index in the step: its tasks run
	Stdout                     // bytes
	Stderr                     // bytes
	Exits                      // []Exit of some tasks of one node; N is the node's index
	Taken                      // N is the node's index: so many more bytes of stdin are with the tasks; payload: uint64
	NodeEnd                    // NodeUsed; N is the node's index
	NodeLost                   // N is the node's index; bytes: why
	Cancelled                  // bytes: a line for stderr: the step is being ended
	End                        // nothing follows
	Meet                       // Meeting: all tasks of a node wait for those of others. N is the node's index. Not for srun
	Abort                      // an MPI program ends its step. N is the exit code that it asks for, 0 if none
	Job                        // JobInfo: the first frame to an srun outside of the job, from the agent
)

// All is the N of a frame that concerns every task.
const All = ^uint32(0)

// MaxPayload bounds a frame. A NodeLaunch with a large environment is the largest.
const MaxPayload = 64 << 20

// Bounds of frames that need less. A request has words and environments of srun, which Linux bounds
// to 6 MiB, for each component.
const (
	maxRequest = 16 << 20
	maxOther   = 1 << 20
)

// most is how large a frame of a kind may be.
func most(k Kind) uint32 {
	switch k {
	case Launch, Meet, Met, Created, Job:
		return MaxPayload
	case Create:
		return maxRequest
	}
	return maxOther
}

// small is how large a Reader's buffer is that it may keep: no frame of a stream is larger.
const small = 64 << 10

const header = 9

// Frame is one frame. A Payload that Read returned is valid until the next Read.
type Frame struct {
	Kind    Kind
	N       uint32
	Payload []byte
}

// Reader reads frames. It is not for concurrent use.
type Reader struct {
	// Held, if it is not nil, is called before the Reader holds more bytes than a stream needs, and
	// when it does so no more, with how many more than before. Its error is Read's.
	Held func(more int) error

	r    io.Reader
	head [header]byte
	buf  []byte
	held int // as passed to Held
}

// NewReader returns a Reader of r, which should have a buffer.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Read returns the next frame. io.EOF is an end between frames.
func (r *Reader) Read() (Frame, error) {
	if cap(r.buf) > small {
		r.buf = nil
		if err := r.hold(0); err != nil {
			return Frame{}, err
		}
	}
	if _, err := io.ReadFull(r.r, r.head[:]); err != nil {
		return Frame{}, err
	}
	size := binary.BigEndian.Uint32(r.head[5:])
	if size > most(Kind(r.head[0])) {
		return Frame{}, fmt.Errorf("a frame of %d bytes: the other side does not speak of steps", size)
	}
	if int(size) > cap(r.buf) {
		if err := r.hold(max(int(size), small) - small); err != nil {
			return Frame{}, err
		}
		r.buf = make([]byte, max(int(size), 4<<10))
	}
	f := Frame{Kind(r.head[0]), binary.BigEndian.Uint32(r.head[1:]), r.buf[:size]}
	_, err := io.ReadFull(r.r, f.Payload)
	return f, err
}

func (r *Reader) hold(n int) error {
	if r.Held == nil || n == r.held {
		return nil
	}
	err := r.Held(n - r.held)
	if err == nil {
		r.held = n
	}
	return err
}

// Writer writes frames, each with one Write. It is safe for concurrent use.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes one frame.
func (w *Writer) Write(k Kind, n uint32, payload []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf[:0], byte(k))
	w.buf = binary.BigEndian.AppendUint32(w.buf, n)
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(len(payload)))
	w.buf = append(w.buf, payload...)
	_, err := w.w.Write(w.buf)
	if cap(w.buf) > 1<<20 {
		w.buf = nil
	}
	return err
}

// WriteJSON writes a frame with v as its payload.
func (w *Writer) WriteJSON(k Kind, n uint32, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.Write(k, n, b)
}

// JSON reads the payload of f.
func JSON[T any](f Frame) (v T, err error) {
	err = json.Unmarshal(f.Payload, &v)
	return v, err
}

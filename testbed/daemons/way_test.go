package daemons

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// way is one daemon's way to the database or to the site. It passes on what it is given, until a trap catches a message: then that way holds it, and what follows on the
// same connection.
type way struct {
	l      net.Listener
	target string                              // host and port, or the path of a unix socket
	split  func(io.Reader, func([]byte)) error // what is sent, into messages

	mu   sync.Mutex
	trap *trap
	open chan struct{} // closed: the way is open; else nothing comes through, and nobody is told
}

// trap catches one message.
type trap struct {
	catches func(message []byte) bool
	reply   bool          // the answer to it is caught, not the message
	caught  chan struct{} // closed: it is held
	free    chan struct{} // closed by the test: it goes on
}

func newWay(t *testing.T, target string, split func(io.Reader, func([]byte)) error) *way {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	w := &way{l: l, target: target, split: split, open: make(chan struct{})}
	close(w.open)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.pass(c)
		}
	}()
	return w
}

func (w *way) address() string { return w.l.Addr().String() }

// hold sets a trap.
func (w *way) hold(reply bool, catches func([]byte) bool) *trap {
	tr := &trap{catches: catches, reply: reply, caught: make(chan struct{}), free: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trap = tr
	return tr
}

// cut has nothing come through until it is mended.
func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = make(chan struct{})
}

func (w *way) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.open)
}

// through waits while the way is cut.
func (w *way) through() {
	w.mu.Lock()
	open := w.open
	w.mu.Unlock()
	<-open
}

// sprung is the trap that catches a message. It catches no other.
func (w *way) sprung(message []byte) *trap {
	w.mu.Lock()
	defer w.mu.Unlock()
	tr := w.trap
	if tr == nil || !tr.catches(message) {
		return nil
	}
	w.trap = nil
	return tr
}

func (w *way) pass(from net.Conn) {
	defer from.Close()
	network := "tcp"
	if strings.HasPrefix(w.target, "/") {
		network = "unix"
	}
	w.through()
	to, err := net.Dial(network, w.target)
	if err != nil {
		return
	}
	defer to.Close()
	answers := make(chan *trap, 1) // a trap for the answer to what was sent last
	go func() {
		defer from.Close()
		piece := make([]byte, 64<<10)
		var tr *trap
		for {
			n, err := to.Read(piece)
			if err != nil {
				return
			}
			select {
			case tr = <-answers:
			default:
			}
			if tr != nil && bytes.Contains(piece[:n], []byte("COMMIT\x00")) {
				close(tr.caught)
				<-tr.free
				tr = nil
			}
			w.through()
			if _, err := from.Write(piece[:n]); err != nil {
				return
			}
		}
	}()
	held := false
	defer func() {
		if held { // what was held is to be heard to its end, though nobody waits for the answer
			time.Sleep(time.Second)
		}
	}()
	_ = w.split(from, func(message []byte) {
		tr := w.sprung(message)
		if tr != nil && tr.reply {
			answers <- tr
		} else if tr != nil {
			held = true
			close(tr.caught)
			<-tr.free
		}
		w.through()
		if _, err := to.Write(message); err != nil {
			from.Close()
		}
	})
}

// pieces are what was sent, as it comes.
func pieces(r io.Reader, each func([]byte)) error {
	piece := make([]byte, 64<<10)
	for {
		n, err := r.Read(piece)
		if err != nil {
			return err
		}
		each(piece[:n])
	}
}

// pgMessages are the messages of PostgreSQL's protocol that a client sends. Before one that commits comes commitMark.
func pgMessages(r io.Reader, each func([]byte)) error {
	statements := map[string]string{}
	head := make([]byte, 5)
	for first := true; ; first = false {
		at := 0
		if first { // has no type
			at = 1
		}
		if _, err := io.ReadFull(r, head[at:]); err != nil {
			return err
		}
		size := binary.BigEndian.Uint32(head[1:])
		if size < 4 || size > 1<<30 {
			return errors.New("this is not PostgreSQL's protocol")
		}
		body := make([]byte, size-4)
		if _, err := io.ReadFull(r, body); err != nil {
			return err
		}
		message := append(bytes.Clone(head[at:]), body...)
		if !first && head[0] == 'P' {
			name, rest, _ := bytes.Cut(body, []byte{0})
			text, _, _ := bytes.Cut(rest, []byte{0})
			statements[string(name)] = string(text)
		}
		if !first && head[0] == 'B' {
			_, rest, _ := bytes.Cut(body, []byte{0})
			name, _, _ := bytes.Cut(rest, []byte{0})
			if statements[string(name)] == "COMMIT" {
				each(commitMark)
			}
		}
		each(message)
	}
}

// commitMark is what a trap sees before a message that commits. It is empty, and so nothing is sent.
var commitMark = []byte{}

// commits catches the commit after so many others.
func commits(after int) func([]byte) bool {
	return func(message []byte) bool {
		if len(message) > 0 {
			return false
		}
		after--
		return after < 0
	}
}

// submits catches the submission of a job.
func submits(message []byte) bool {
	line, _, _ := bytes.Cut(message, []byte("\r\n"))
	return bytes.HasPrefix(line, []byte("POST ")) && bytes.Contains(line, []byte("/job/submit"))
}

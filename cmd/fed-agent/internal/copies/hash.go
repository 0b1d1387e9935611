package copies

import (
	"crypto/sha256"
	"hash"
	"io"
)

// hashing passes on what it reads, and adds up its sum meanwhile: what it reads is read ahead and hashed beside what becomes of it.
type hashing struct {
	sum  hash.Hash // whole when all has been read
	from chan []byte
	free chan []byte
	err  *error // of the end, once from is closed
	all  []byte // of the chunk that is being read
	rest []byte
}

const (
	part  = 256 << 10
	parts = 6
)

func hashed(r io.Reader) *hashing {
	h := &hashing{sum: sha256.New(), from: make(chan []byte, parts), free: make(chan []byte, parts), err: new(error)}
	for range parts {
		h.free <- make([]byte, part)
	}
	read := make(chan []byte, parts)
	go func() {
		defer close(read)
		for b := range h.free {
			n, err := io.ReadFull(r, b)
			read <- b[:n]
			if err != nil {
				if err != io.EOF && err != io.ErrUnexpectedEOF {
					*h.err = err
				}
				return
			}
		}
	}()
	go func() {
		defer close(h.from)
		for b := range read {
			h.sum.Write(b)
			h.from <- b
		}
	}()
	return h
}

// next reports whether there is more.
func (h *hashing) next() bool {
	for len(h.rest) == 0 {
		if h.all != nil {
			h.free <- h.all[:part]
		}
		b, ok := <-h.from
		if h.all = b; !ok {
			return false
		}
		h.rest = b
	}
	return true
}

func (h *hashing) end() error {
	if *h.err != nil {
		return *h.err
	}
	return io.EOF
}

func (h *hashing) Read(p []byte) (int, error) {
	if !h.next() {
		return 0, h.end()
	}
	n := copy(p, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

// WriteTo implements io.WriterTo.
func (h *hashing) WriteTo(w io.Writer) (sum int64, err error) {
	for h.next() {
		n, err := w.Write(h.rest)
		if sum += int64(n); err != nil {
			return sum, err
		}
		h.rest = nil
	}
	return sum, *h.err
}

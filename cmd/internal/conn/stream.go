package conn

import (
	"errors"
	"io"
	"strconv"
	"strings"
)

// Stream sends a request without a body and returns the answer before it is read: for answers that
// are used piece by piece. The body must be closed before the next call. Any error, also one of
// reading, is an *Error; a body that ends without one is whole.
func (c *Conn) Stream(path string) (status int, body io.ReadCloser, err error) {
	defer func() { c.Explain(reason(err)) }()
	for try := 0; ; try++ {
		status, body, err = c.stream(path)
		if try == 0 && errors.Is(err, ErrLost) {
			continue
		}
		if status != tooEarly || !c.again(try) {
			return status, body, err
		}
		body.Close()
	}
}

func (c *Conn) stream(path string) (status int, body io.ReadCloser, err error) {
	if err := c.connect(); err != nil {
		return 0, nil, err
	}
	if err := c.send("GET", path, "", nil); err != nil {
		c.Close()
		return 0, nil, err
	}
	h, err := c.readHead()
	if err != nil {
		c.Close()
		return 0, nil, err
	}
	b := &stream{c: c, left: h.length, chunked: h.chunked, keep: h.keep}
	switch {
	case h.status == 204 || h.status == 304:
		b.left, b.chunked = 0, false
	case h.chunked:
		b.left = 0
	case h.length < 0:
		b.keep, b.toEnd = false, true
	}
	return h.status, b, nil
}

// stream is the body of one answer.
type stream struct {
	c       *Conn
	left    int  // bytes until the end, or until that of the chunk
	chunked bool // more chunks may come
	toEnd   bool // it ends where the connection does
	keep    bool
	err     error
}

// Read implements io.Reader.
func (b *stream) Read(p []byte) (int, error) {
	if b.err == nil && b.chunked && b.left == 0 {
		b.err = b.nextChunk()
	}
	switch {
	case b.err != nil:
		b.c.Explain(reason(b.err))
		return 0, b.err
	case b.left == 0 && !b.chunked && !b.toEnd:
		b.err = io.EOF
		return 0, b.err
	case len(p) == 0:
		return 0, nil
	}
	if !b.toEnd && len(p) > b.left {
		p = p[:b.left]
	}
	n, err := b.c.read(p)
	switch {
	case err != nil:
		b.err = err
	case n == 0 && b.toEnd:
		b.err = io.EOF
	case n == 0:
		b.err = b.c.broken(nil)
	}
	if !b.toEnd {
		b.left -= n
	}
	if n == 0 {
		return 0, b.err
	}
	return n, nil
}

// nextChunk reads the size of the next chunk, and after the last the end of the answer.
func (b *stream) nextChunk() error {
	line, err := b.c.line()
	if err == nil && line == "" { // the end of the chunk before
		line, err = b.c.line()
	}
	if err != nil {
		return err
	}
	hex, _, _ := strings.Cut(line, ";")
	n, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 31)
	if err != nil {
		return b.c.noHTTP(line)
	}
	if b.left = int(n); n > 0 {
		return nil
	}
	b.chunked = false
	for line != "" { // trailers, then an empty line
		if line, err = b.c.line(); err != nil {
			return err
		}
	}
	return io.EOF
}

// Close gives the connection back. If not everything was read, it closes the connection instead of
// waiting for the rest.
func (b *stream) Close() error {
	if b.err != io.EOF || !b.keep {
		b.c.Close()
	}
	return nil
}

// read gives what was received already, else waits for more; 0 is the end of the connection.
func (c *Conn) read(p []byte) (int, error) {
	if len(c.buf) > 0 {
		n := copy(p, c.buf)
		c.buf = c.buf[n:]
		return n, nil
	}
	return c.receiveSome(p)
}

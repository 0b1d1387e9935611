package conn

import (
	"bytes"
	"strconv"
	"strings"
)

// header is what matters of an answer's head.
type header struct {
	status  int
	length  int // -1 if unknown
	chunked bool
	keep    bool
}

// receive reads one answer. keep says whether the connection may be used again.
func (c *Conn) receive() (status int, body []byte, keep bool, err error) {
	h, err := c.readHead()
	if err != nil {
		return 0, nil, false, err
	}
	switch {
	case h.status == 204 || h.status == 304:
		return h.status, nil, h.keep, nil
	case h.chunked:
		body, err = c.readChunks()
	case h.length >= 0:
		body, err = c.take(h.length)
	default:
		h.keep = false
		body, err = c.takeAll()
	}
	return h.status, body, h.keep, err
}

// switching is the status of an answer after which the connection is no longer HTTP's.
const switching = 101

// readHead reads up to the body of the real answer: answers of 100 to 199 come before it, but for one that ends HTTP.
func (c *Conn) readHead() (header, error) {
	for {
		if h, err := c.readHeader(); err != nil || h.status >= 200 || h.status == switching {
			return h, err
		}
	}
}

func (c *Conn) readHeader() (header, error) {
	line, err := c.line()
	if err != nil {
		return header{}, err
	}
	proto, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if !strings.HasPrefix(proto, "HTTP/1.") || err != nil || status < 100 {
		return header{}, c.noHTTP(line)
	}
	h := header{status: status, length: -1, keep: proto == "HTTP/1.1"}
	for {
		if line, err = c.line(); err != nil || line == "" {
			return h, err
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "content-length":
			if h.length, err = strconv.Atoi(value); err != nil || h.length < 0 {
				return h, c.noHTTP(line)
			}
		case "transfer-encoding":
			h.chunked = strings.EqualFold(value, "chunked")
		case "connection":
			h.keep = h.keep && !strings.EqualFold(value, "close")
		}
	}
}

func (c *Conn) readChunks() ([]byte, error) {
	var body []byte
	for {
		line, err := c.line()
		if err != nil {
			return nil, err
		}
		hex, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 31)
		if err != nil {
			return nil, c.noHTTP(line)
		}
		if n == 0 {
			for line != "" { // trailers, then an empty line
				if line, err = c.line(); err != nil {
					return nil, err
				}
			}
			return body, nil
		}
		chunk, err := c.take(int(n))
		if err != nil {
			return nil, err
		}
		body = append(body, chunk...)
		if _, err = c.line(); err != nil {
			return nil, err
		}
	}
}

// line returns the next line without its end.
func (c *Conn) line() (string, error) {
	for from := 0; ; {
		if i := bytes.IndexByte(c.buf[from:], '\n'); i >= 0 {
			line := string(bytes.TrimSuffix(c.buf[:from+i], []byte{'\r'}))
			c.buf = c.buf[from+i+1:]
			return line, nil
		}
		from = len(c.buf)
		if n, err := c.fill(4096); err != nil {
			return "", err
		} else if n == 0 {
			return "", c.broken(nil)
		}
	}
}

// take returns the next n bytes.
func (c *Conn) take(n int) ([]byte, error) {
	for len(c.buf) < n {
		got, err := c.fill(n - len(c.buf))
		if err != nil {
			return nil, err
		}
		if got == 0 {
			return nil, c.broken(nil)
		}
	}
	b := c.buf[:n:n]
	c.buf = c.buf[n:]
	return b, nil
}

// takeAll returns everything up to the end of the connection.
func (c *Conn) takeAll() ([]byte, error) {
	for {
		n, err := c.fill(4096)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return c.buf, nil
		}
	}
}

// fill reads more bytes into buf, making room for at least want (at most 1 MiB at once, so that a false length
// costs nothing); 0 is the end of the connection.
func (c *Conn) fill(want int) (int, error) {
	want = min(max(want, 4096), 1<<20)
	if cap(c.buf)-len(c.buf) < want {
		bigger := make([]byte, len(c.buf), 2*len(c.buf)+want)
		copy(bigger, c.buf)
		c.buf = bigger
	}
	n, err := c.receiveSome(c.buf[len(c.buf):cap(c.buf)])
	c.buf = c.buf[:len(c.buf)+n]
	return n, err
}

func (c *Conn) noHTTP(line string) error {
	return &Error{ErrLost, "the server at " + c.path + " is not an fsub daemon: it said " + strconv.Quote(line)}
}

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// load is the result of many submissions by several clients at once.
type load struct {
	took    time.Duration
	answers sample
}

func (l load) perSecond() float64 { return float64(len(l.answers)) / l.took.Seconds() }

// submitAll sends the same request n times over clients connections that are kept alive, and wants a job ID each time. The
// client side is as cheap as it can be: it shares the processors with the daemon.
func submitAll(dial func() (net.Conn, error), clients, n int, request []byte) (load, error) {
	conns := make([]*keptAlive, clients)
	for i := range conns {
		c, err := dial()
		if err != nil {
			return load{}, err
		}
		defer c.Close()
		conns[i] = newKeptAlive(c)
	}
	var left atomic.Int64
	left.Store(int64(n))
	times := make([][]time.Duration, clients)
	errs := make([]error, clients)
	var wg sync.WaitGroup
	begun := time.Now()
	for i, c := range conns {
		wg.Go(func() {
			for errs[i] == nil && left.Add(-1) >= 0 {
				t := time.Now()
				_, errs[i] = c.submit(request)
				times[i] = append(times[i], time.Since(t))
			}
		})
	}
	wg.Wait()
	l := load{took: time.Since(begun)}
	var all []time.Duration
	for _, t := range times {
		all = append(all, t...)
	}
	l.answers = newSample(all)
	return l, errors.Join(errs...)
}

// keptAlive is an HTTP/1.1 connection that reads no more of an answer than it must.
type keptAlive struct {
	conn net.Conn
	in   *bufio.Reader
	body []byte
}

func newKeptAlive(c net.Conn) *keptAlive {
	return &keptAlive{conn: c, in: bufio.NewReaderSize(c, 16<<10)}
}

// post makes the bytes of a request. headers end with a line break each.
func post(path, headers string, body []byte) []byte {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: bench\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, headers, len(body))
	return append([]byte(head), body...)
}

// submit sends a request and returns the job ID of its answer.
func (c *keptAlive) submit(request []byte) (uint32, error) {
	if err := c.do(request); err != nil {
		return 0, err
	}
	_, id, found := bytes.Cut(c.body, []byte(`"job_id":`))
	id = bytes.TrimLeft(id, " ")
	end := bytes.IndexAny(id, ",} \n")
	if !found || end < 0 {
		return 0, fmt.Errorf("no job ID in the answer %q", c.body)
	}
	n, err := strconv.ParseUint(string(id[:end]), 10, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("no job ID in the answer %q", c.body)
	}
	return uint32(n), nil
}

// do sends a request and reads the answer's body, which must come with its length.
func (c *keptAlive) do(request []byte) error {
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	status, length := "", -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if status == "" {
			status = string(line)
			continue
		}
		if len(line) <= 2 {
			break
		}
		const name = "content-length:"
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(name):]))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("answer without a length: %s", status)
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err := io.ReadFull(c.in, c.body)
	return err
}

// Package copies is fsub-copy, which moves a copy of what a job keeps between tar and the store (federation/staging, wrapper.sh): it cuts it into pieces and adds
// up its SHA-256 meanwhile. On a machine with our agent it takes the place of tee, a program that sums, dd and curl, which pass every byte on several times.
package copies

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Name is how the wrapper finds it.
const Name = "fsub-copy"

const usage = "usage: fsub-copy put|get ADDRESSES TASK COPY BYTES PIECE SUM [DONE HEADER]"

// order is one copy.
type order struct {
	addresses string // the file of addresses: "task name address" in each line
	task      string
	copy      string // how the names of its pieces begin
	bytes     int64
	piece     int64  // bytes of each piece but the last
	sum       string // the file that gets its SHA-256
	done      string // the file that has the number of pieces that are there already, and is kept so
	header    string // "Name: value" of each PUT
}

// Main sends standard input, or prints a copy. Where it fails the last line of errors says why.
func Main(args []string, in, out *os.File, errs io.Writer) int {
	o, err := parse(args)
	if err == nil && args[0] == "put" {
		err = o.put(in)
	} else if err == nil {
		err = o.get(out)
	}
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // the address lets anybody in
			err = u.Err
		}
		fmt.Fprintln(errs, "fsub-copy:", err)
		return 1
	}
	return 0
}

func parse(args []string) (o order, err error) {
	if len(args) != 7 && len(args) != 9 || (args[0] == "put") != (len(args) == 9) || args[0] != "put" && args[0] != "get" {
		return o, errors.New(usage)
	}
	o = order{addresses: args[1], task: args[2], copy: args[3], sum: args[6]}
	if len(args) == 9 {
		o.done, o.header = args[7], args[8]
	}
	var err2 error
	o.bytes, err = strconv.ParseInt(args[4], 10, 64)
	o.piece, err2 = strconv.ParseInt(args[5], 10, 64)
	if err = errors.Join(err, err2); err == nil && (o.bytes < 0 || o.piece < 1) {
		err = errors.New(usage)
	}
	return o, err
}

// each calls do for each piece, with its number, its length and its address.
func (o *order) each(method string, do func(n int, length int64, address string) error) error {
	addresses, err := o.read()
	if err != nil {
		return err
	}
	left := o.bytes
	for n := 0; left > 0; n++ {
		name := fmt.Sprintf("%s.%d.%s", o.copy, n, method)
		if addresses[name] == "" {
			return fmt.Errorf("no address for %s", name)
		}
		length := min(left, o.piece)
		if err := do(n, length, addresses[name]); err != nil {
			return err
		}
		left -= length
	}
	return nil
}

// read are the addresses of the task by name.
func (o *order) read() (map[string]string, error) {
	f, err := os.Open(o.addresses)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if w := strings.Fields(lines.Text()); len(w) == 3 && w[0] == o.task {
			found[w[1]] = w[2]
		}
	}
	return found, lines.Err()
}

func (o *order) put(in *os.File) error {
	_, _ = unix.FcntlInt(in.Fd(), unix.F_SETPIPE_SZ, chunk) // fewer switches between tar and this
	text, err := os.ReadFile(o.done)
	if err != nil {
		return err
	}
	done, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	h := hashed(in)
	err = o.each("put", func(n int, length int64, address string) error {
		if n < done {
			_, err := io.CopyN(io.Discard, h, length)
			return err
		}
		if err := o.send(address, length, io.LimitReader(h, length)); err != nil {
			return err
		}
		return os.WriteFile(o.done, []byte(strconv.Itoa(n+1)+"\n"), 0o600)
	})
	if err != nil {
		return err
	}
	if n, err := io.Copy(io.Discard, h); err != nil || n > 0 {
		return errors.Join(err, errors.New("the files have grown"))
	}
	return os.WriteFile(o.sum, []byte(hex.EncodeToString(h.sum.Sum(nil))+"\n"), 0o600)
}

func (o *order) send(address string, length int64, piece io.Reader) error {
	r, err := http.NewRequest(http.MethodPut, address, io.NopCloser(piece))
	if err != nil {
		return err
	}
	r.ContentLength = length
	if name, value, ok := strings.Cut(o.header, ": "); ok {
		r.Header.Set(name, value)
	}
	a, err := client.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, 1<<16)) // so that the connection is used again
	return status(a)
}

func status(a *http.Response) error {
	if a.StatusCode/100 != 2 {
		return fmt.Errorf("HTTP status %d", a.StatusCode)
	}
	return nil
}

func (o *order) get(out *os.File) error {
	_, _ = unix.FcntlInt(out.Fd(), unix.F_SETPIPE_SZ, chunk)
	from, to := io.Pipe()
	go func() {
		to.CloseWithError(o.each("get", func(_ int, length int64, address string) error { return fetch(address, length, to) }))
	}()
	h := hashed(from)
	if _, err := h.WriteTo(out); err != nil {
		return err
	}
	return os.WriteFile(o.sum, []byte(hex.EncodeToString(h.sum.Sum(nil))+"\n"), 0o600)
}

// fetch passes on a piece.
func fetch(address string, length int64, to io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	a, err := client.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if err := status(a); err != nil {
		return err
	}
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	b := make([]byte, chunk)
	for left := length; left > 0; {
		n, err := a.Body.Read(b[:min(left, chunk)])
		quiet.Stop() // what comes next waits for tar
		if left -= int64(n); n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				return err
			}
		}
		if err != nil && left > 0 {
			return fmt.Errorf("%d bytes of a piece are missing: %w", left, err)
		}
		quiet.Reset(silence)
	}
	return nil
}

const (
	silence = time.Minute // of the store, after which a copy breaks off
	chunk   = 1 << 20
)

var client = &http.Client{Transport: &http.Transport{
	Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1, ResponseHeaderTimeout: 5 * time.Minute, // it may have a GiB to write
	ReadBufferSize: 64 << 10,
	DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{Timeout: 20 * time.Second}).DialContext(ctx, network, address)
		return impatient{c}, err
	},
}}

// impatient is a connection that breaks off when nothing is taken of what is sent.
type impatient struct{ net.Conn }

func (i impatient) Write(p []byte) (int, error) {
	if err := i.SetWriteDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return i.Conn.Write(p)
}

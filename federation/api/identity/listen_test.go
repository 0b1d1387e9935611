package identity

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// TestSlowReadersAreCutOff, on the socket and over TCP: what they do not read does not stay in memory.
func TestSlowReadersAreCutOff(t *testing.T) {
	defer func(d time.Duration) { readerSlack = d }(readerSlack)
	readerSlack = 50 * time.Millisecond
	unix, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	who := New(Config{Users: SystemUsers{}, Self: ^uint32(0), Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	for _, l := range []net.Listener{who.Listen(unix), PerSource(tcp, 10)} {
		defer l.Close()
		client, err := net.Dial(l.Addr().Network(), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		served, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := served.Write([]byte("hello")); err != nil {
			t.Error(err)
		}
		for err == nil {
			_, err = served.Write(make([]byte, 64<<10)) // until the kernel's buffers are full
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", l.Addr().Network(), err)
		}
		served.Close()
	}
}

// TestConnectionsOfOneAddress: what is too much is closed before anything is read, and there is room again after others have ended.
func TestConnectionsOfOneAddress(t *testing.T) {
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := PerSource(raw, 2)
	l.(*sourceListener).of = func(c net.Conn) string { return c.RemoteAddr().(*net.TCPAddr).IP.String() } // all are of one user
	defer l.Close()
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func(from string) net.Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.Dial("tcp", raw.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	first, _ := dial("127.0.0.1"), dial("127.0.0.1")
	served := <-accepted
	<-accepted
	if _, err := dial("127.0.0.1").Read(make([]byte, 1)); !errors.Is(err, io.EOF) && err == nil {
		t.Errorf("the third: %v", err)
	}
	dial("127.0.0.2")
	<-accepted // another address has room
	first.Close()
	served.Close()
	dial("127.0.0.1")
	<-accepted
}

// TestManyWhoTakeAll: however many take all the connections that they get, one who comes then gets some: those of the ones who have most are closed.
func TestManyWhoTakeAll(t *testing.T) {
	c := newCrowd[int](1024)
	c.all = 4000
	var closed atomic.Int64
	taken := func(who int) (n int) {
		for c.take(who, &toClose{&closed}) {
			n++
		}
		return n
	}
	if n := taken(0); n != 1024 || closed.Load() != 0 {
		t.Errorf("one alone has %d, and %d are closed", n, closed.Load())
	}
	for who := 1; who <= 32; who++ {
		taken(who)
	}
	if n := taken(33); n < 100 {
		t.Errorf("the last has %d", n)
	}
	sum := 0
	for who := range 34 {
		n := len(c.open[who])
		if sum += n; n < 4000/34 || n > 4000/34+1 {
			t.Errorf("%d has %d", who, n)
		}
		for conn := range c.open[who] {
			c.release(who, conn)
			c.release(who, conn)
		}
	}
	if sum != 4000 || c.sum != 0 || len(c.open) != 0 {
		t.Errorf("%d were open, %d after all were closed: %v", sum, c.sum, c.open)
	}
}

type toClose struct{ n *atomic.Int64 }

func (c *toClose) Close() error {
	c.n.Add(1)
	return nil
}

package identity

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
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

package munge

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/testbed/munged"
)

const patience = time.Minute

// A credential says who has made it and when, once, to a munged with the same key.
func TestRealMunged(t *testing.T) {
	alpha, beta := munged.Start(t, "alpha"), munged.Start(t, "beta")
	payload := PayloadFor("alpha", strings.Repeat("AB", 32))
	began := time.Now()
	cred, err := Encode(alpha, payload, patience)
	if err != nil || !strings.HasPrefix(cred, "MUNGE:") || strings.ContainsAny(cred, "\x00\r\n ") {
		t.Fatalf("%q, %v", cred, err)
	}
	if _, err := Decode(beta, cred, patience); !errors.Is(err, ErrInvalid) {
		t.Errorf("another key: %v", err)
	}
	c, err := Decode(alpha, cred, patience)
	if err != nil || int(c.UID) != os.Getuid() || int(c.GID) != os.Getgid() || c.Payload != payload || c.TTL != 5*time.Minute || c.Encoded.Sub(began).Abs() > patience {
		t.Errorf("%+v, %v", c, err)
	}
	for range 2 {
		if c, err := Decode(alpha, cred, patience); !errors.Is(err, ErrReplayed) || c.Payload != "" {
			t.Errorf("again: %+v, %v", c, err)
		}
	}
	for _, bad := range []string{"", "x", "MUNGE:", "MUNGE:AwQFAADe:", cred[:len(cred)-9] + ":", "MUNGE:" + strings.Repeat("A", 1<<20) + ":"} {
		if c, err := Decode(alpha, bad, patience); err == nil {
			t.Errorf("%.20q: %+v", bad, c)
		}
	}
}

func TestExpiredCredential(t *testing.T) {
	socket := munged.Start(t, "alpha")
	short, err := encode(socket, "x", 1, patience)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2100 * time.Millisecond) // munged counts seconds
	if _, err := Decode(socket, short, patience); !errors.Is(err, ErrExpired) {
		t.Errorf("%v", err)
	}
}

// answering is a socket where something says that, whatever it is asked.
func answering(t *testing.T, say []byte) string {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.Read(make([]byte, 4096))
				c.Write(say)
				io.Copy(io.Discard, c)
			}()
		}
	}()
	return path
}

func message(kind byte, body ...byte) []byte {
	m := append(binary.BigEndian.AppendUint32(nil, magic), version, kind, 0)
	return append(binary.BigEndian.AppendUint32(m, uint32(len(body))), body...)
}

// What listens may say anything, and what does not listen is named.
func TestStrangeMunged(t *testing.T) {
	old := message(decodeResponse)
	old[4] = 3
	large := message(decodeResponse)
	binary.BigEndian.PutUint32(large[7:], 1<<30)
	for name, c := range map[string]struct {
		say  []byte
		says string
	}{
		"a credential of the future": {message(decodeResponse, credRewound, 0), "made in the future"},
		"an error without a name":    {message(decodeResponse, 3, 4, 'o', 'd', 'd', 0), "changed on its way (odd)"},
		"nothing of what it was":     {message(decodeResponse, 0), "is not munged, or one of another version"},
		"a text that does not end":   {append(message(decodeResponse, 0, 0, 4, 5, 0, 0), make([]byte, 5)...), "not munged"},
		"another version":            {old, "not munged, or one of another version"},
		"another message":            {message(encodeResponse, 0, 0), "not munged"},
		"too much":                   {large, "not munged"},
		"HTTP":                       {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "not munged"},
		"half a head":                {[]byte{0}, "munged does not answer at"},
	} {
		if _, err := Decode(answering(t, c.say), "x", 200*time.Millisecond); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	if _, err := Encode("/nonexistent/socket", "x", patience); err == nil || err.Error() != "munged does not answer at /nonexistent/socket (no such file or directory)" {
		t.Errorf("%v", err)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte{0, 0, 4, 5, 0, 0, 0, 0, 1, 44, 4, 127, 0, 0, 1})
	f.Fuzz(func(t *testing.T, body []byte) {
		if c, err := decoded("s", &reader{left: body}); err == nil && len(c.Payload) > len(body) {
			t.Errorf("%+v", c)
		}
	})
}

package identity

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Connections of one user are taken; those of others, root's too, are closed before anything is read.
func TestOnlyUser(t *testing.T) {
	for _, own := range []bool{true, false} {
		l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		uid := uint32(os.Getuid())
		if !own {
			uid++
		}
		only := OnlyUser(l, uid, slog.New(slog.DiscardHandler))
		go func() {
			for {
				c, err := only.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte("x"))
				c.Close()
			}
		}()
		c, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(c)
		if taken := string(got) == "x"; taken != own {
			t.Errorf("own %v: taken %v", own, taken)
		}
		c.Close()
	}
}

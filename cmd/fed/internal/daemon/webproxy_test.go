package daemon

import (
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fsub/cmd/fed/internal/config"
)

// The proxy's socket is its user's alone: another user cannot open it, and root, who can, is not answered.
func TestListenProxy(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes files of other users")
	}
	dir, err := os.MkdirTemp("/tmp", "proxy-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "web.sock")
	c := &config.Config{Web: config.Web{Proxy: config.WebProxy{Socket: path, User: "nobody"}}}
	l, err := listenProxy(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 || st.Sys().(*syscall.Stat_t).Uid == 0 {
		t.Errorf("%v, %v", st, err)
	}
	taken := make(chan net.Conn)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			taken <- c
		}
	}()
	own, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := own.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("root is answered: %d, %v", n, err)
	}
	nobody := int(st.Sys().(*syscall.Stat_t).Uid)
	dial := func(uid int) string {
		cmd := exec.Command("bash", "-c", `exec python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(1))' "$0"`, path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(nobody)}}
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	if out := dial(65533); !strings.Contains(out, "PermissionError") {
		t.Errorf("another user: %s", out)
	}
	select {
	case <-taken:
		t.Error("a connection of somebody else was taken")
	default:
	}
	for user, says := range map[string]string{"root": "user is root", "no-such-user": "web: proxy: user: "} {
		c.Web.Proxy.User = user
		if _, err := listenProxy(c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", user, err)
		}
	}
}

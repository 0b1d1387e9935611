package identity

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// Users of this machine are told apart who connect from its own addresses.
func TestSourceOf(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("%s: %v", address, err)
			continue
		}
		defer l.Close()
		_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second))
		for _, uid := range []int{os.Getuid(), 65534} {
			port := l.Addr().(*net.TCPAddr).Port
			cmd := exec.Command("/bin/bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s/%d; read", l.Addr().(*net.TCPAddr).IP, port))
			if cmd.Dir = "/"; uid != os.Getuid() {
				if os.Getuid() != 0 {
					continue
				}
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: 65534}}
			}
			in, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if got, want := sourceOf(c), fmt.Sprintf("uid %d", uid); got != want {
				t.Errorf("%s: %s, want %s", address, got, want)
			}
			c.Close()
			in.Close()
			_ = cmd.Wait()
		}
	}
}

package bed

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// hostScript is a machine with an /etc of its own, in which resolv.conf is mounted, as in a container. At a word it replaces its passwd, as useradd does.
const hostScript = `set -e
mkdir "$1/etc" && cp -a /etc/passwd /etc/group "$1/etc/"
echo "nameserver below" >"$1/etc/resolv.conf"; echo "nameserver mounted" >"$1/resolv"
mount --bind "$1/etc" /etc && mount --bind "$1/resolv" /etc/resolv.conf
echo up; read -r word
cp -a /etc/passwd /etc/passwd.new && mv /etc/passwd.new /etc/passwd
echo replaced; read -r word`

// Who is in the login has the bed's users for good, whatever happens to the host's.
func TestLoginOutlivesANewPasswd(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: not root: a login needs a mount namespace")
	}
	b, err := Open(t.TempDir())
	if err == nil {
		err = os.MkdirAll(b.loginDir(), 0o755)
	}
	if err == nil {
		err = b.writeUsers(b.loginDir(), "/", Users)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", hostScript, "host", t.TempDir())
	cmd.Stderr = os.Stderr
	orders, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer orders.Close()
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); err != nil {
		t.Fatalf("the host did not come up: %q, %v", line, err)
	}
	err = onThread(func() error {
		if err := enter(cmd.Process.Pid, "mnt"); err != nil {
			return err
		}
		if err := b.enterLogin(); err != nil {
			return err
		}
		for _, when := range []string{"at first", "after the host's was replaced"} {
			passwd, err := os.ReadFile("/etc/passwd")
			if err != nil {
				return err
			}
			if !strings.Contains(string(passwd), "\nalice:") {
				t.Errorf("%s alice is not in /etc/passwd:\n%s", when, passwd)
			}
			io.WriteString(orders, "go\n")
			if _, err := said.ReadString('\n'); err != nil && when == "at first" {
				return err
			}
		}
		resolv, err := os.ReadFile("/etc/resolv.conf")
		if err == nil && string(resolv) != "nameserver mounted\n" {
			t.Errorf("resolv.conf is not the one that was mounted: %q", resolv)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

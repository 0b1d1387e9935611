package steps

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fsub/cloud/container/hold"
	"fsub/cloud/pmi/pmix"
	"fsub/cloud/pmi/sweep"
)

// holder is a process with a file system of its own, where dir has a file that nobody else sees.
func holder(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", `mount -t tmpfs none "$0" && : >"$0/file" && echo ready && read line`, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("SKIPPED: this machine lets nobody make namespaces:", err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Skip("SKIPPED: this machine lets nobody mount in a namespace")
	}
	return cmd
}

// TestBoxRoot: files in a container are removed at the step's end, when the container's holder has been killed; those of the machine by the same names stay.
func TestBoxRoot(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := holder(t, dir)
	spaces, err := (&hold.Held{PID: cmd.Process.Pid}).Namespaces()
	if err != nil {
		t.Fatal(err)
	}
	if root := openBoxRoot(os.Getpid(), spaces); root != nil {
		t.Error("another process has the holder's number, and is taken for it")
	}
	b := &box{spaces: spaces, root: openBoxRoot(cmd.Process.Pid, spaces)}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if root := openBoxRoot(cmd.Process.Pid, spaces); root != nil {
		t.Error("the holder has ended")
	}
	inside := func() bool {
		root, err := b.openRoot()
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		var st unix.Stat_t
		return unix.Fstatat(int(root.Fd()), file[1:], &st, 0) == nil
	}
	if !inside() {
		t.Error("the file in the container is not found")
	}
	(&sweep.Sweeper{Root: b.openRoot}).Remove(1, pmix.Cleanup{Files: []string{file}})
	if inside() {
		t.Error("the file in the container stays")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("the machine's file:", err)
	}
	b.close()
	if _, err := b.openRoot(); err == nil {
		t.Error("the root is open after the container's end")
	}
}

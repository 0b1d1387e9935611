package bed

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// The holder is the first process of a site's pid namespace. It mounts /proc, waits forever and buries the dead. Its end is the end of
// every process, mount and network interface of the site. It is a shell, so that a running site does not depend on the
// program that started it.
const holderScript = `mount -t proc -o nosuid,nodev,noexec proc /proc && echo ready >&3 && exec 3>&- || exit 1
while :; do sleep 86400 & wait $!; done`

// holderArgs is the holder's command line, by which it is found when nothing else is known of it.
func (b *Bed) holderArgs(s Site) []string {
	return []string{"fsub-bed-" + s.Name, "-c", holderScript, b.siteDir(s.Name)}
}

// startHolder makes the namespaces of a site, its root among them, and returns the process that keeps them.
func (b *Bed) startHolder(s Site) (procID, error) {
	logFile, err := os.OpenFile(filepath.Join(b.siteDir(s.Name), "log", "holder.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return procID{}, err
	}
	defer logFile.Close()
	ready, w, err := os.Pipe()
	if err != nil {
		return procID{}, err
	}
	defer ready.Close()

	cmd := &exec.Cmd{
		Path: "/bin/bash", Args: b.holderArgs(s),
		Env: []string{"PATH=" + sitePath}, Dir: "/", Stdout: logFile, Stderr: logFile,
		ExtraFiles:  []*os.File{w},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWPID},
	}
	err = onThread(func() error {
		if err := unshare(unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET); err != nil {
			return err
		}
		if err := b.mountRoot(s); err != nil {
			return err
		}
		if err := unix.Sethostname([]byte(s.Name + "-ctl")); err != nil {
			return fmt.Errorf("set hostname: %w", err)
		}
		return cmd.Start()
	})
	w.Close()
	if err != nil {
		return procID{}, fmt.Errorf("start namespaces of %s: %w", s.Name, err)
	}
	go cmd.Wait() // leaves no zombie behind in a long-lived caller
	if line, _ := bufio.NewReader(ready).ReadString('\n'); line != "ready\n" {
		text, _ := os.ReadFile(logFile.Name())
		return procID{}, fmt.Errorf("start namespaces of %s: the first process ended: %s", s.Name, text)
	}
	return identify(cmd.Process.Pid)
}

// mountRoot gives the current thread, in a mount namespace of its own, the root of a site: the suite's root filesystem below a layer in
// memory, with the homes and the site's directory under the paths that they have on the host.
func (b *Bed) mountRoot(s Site) error {
	base := filepath.Join(b.siteDir(s.Name), "mnt")
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	if err := mount("tmpfs", base, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	upper, work, root := filepath.Join(base, "upper"), filepath.Join(base, "work"), filepath.Join(base, "root")
	for _, dir := range []string{upper, work, root} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	layers := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", b.rootDir(s.Suite), upper, work)
	if err := mount("overlay", root, "overlay", 0, layers); err != nil {
		return fmt.Errorf("%w (does this kernel have overlayfs?)", err)
	}
	if err := mountSystem(root); err != nil {
		return err
	}
	for _, dir := range []string{b.homeDir(), b.siteDir(s.Name)} {
		if err := bind(dir, filepath.Join(root, dir)); err != nil {
			return err
		}
	}
	for _, dir := range append([]string{b.BinDir(), b.FedDir()}, b.opts.Share...) { // the first two for jobs that submit: see the package's comment
		if err := bindReadOnly(dir, filepath.Join(root, dir)); err != nil {
			return err
		}
	}
	etc := filepath.Join(b.siteDir(s.Name), "etc")
	for from, to := range map[string]string{
		"passwd": "/etc/passwd", "group": "/etc/group", "hosts": "/etc/hosts", "nsswitch.conf": "/etc/nsswitch.conf", ".": "/etc/slurm",
	} {
		if err := bind(filepath.Join(etc, from), filepath.Join(root, to)); err != nil {
			return err
		}
	}
	return pivot(root)
}

// mountSystem fills /dev, /run, /tmp and /sys of a new root. /proc needs the pid namespace and is mounted by the holder.
func mountSystem(root string) error {
	for _, m := range []struct{ dir, fstype, data string }{
		{"run", "tmpfs", "mode=755"}, {"tmp", "tmpfs", "mode=1777"}, {"dev", "tmpfs", "mode=755"}, {"sys", "sysfs", ""},
		{"dev/pts", "devpts", "newinstance,ptmxmode=0666,mode=620,gid=5"}, {"dev/shm", "tmpfs", "mode=1777"},
	} {
		dir := filepath.Join(root, m.dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := mount(m.fstype, dir, m.fstype, unix.MS_NOSUID, m.data); err != nil {
			return err
		}
	}
	// slurmctld and slurmdbd run as SlurmUser and cannot make their own; slurmd insists on root's
	for dir, uid := range map[string]int{"slurmctld": slurmUID, "slurmdbd": slurmUID, "slurm": 0, "munge": 0} {
		if err := makeDir(filepath.Join(root, "run", dir), 0o755, uid, uid); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2",
	} {
		if err := os.Symlink(target, filepath.Join(root, "dev", name)); err != nil {
			return err
		}
	}
	return makeDevices(filepath.Join(root, "dev"))
}

// makeDevices makes the usual devices and, as GPUs, nodes of nvidia's major number with no driver behind: enough for Slurm to count them
// and to set CUDA_VISIBLE_DEVICES.
func makeDevices(dev string) error {
	old := unix.Umask(0)
	defer unix.Umask(old)
	node := func(name string, major, minor uint32) error {
		if err := unix.Mknod(filepath.Join(dev, name), unix.S_IFCHR|0o666, int(unix.Mkdev(major, minor))); err != nil {
			return fmt.Errorf("make device %s (is CAP_MKNOD missing?): %w", name, err)
		}
		return nil
	}
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9} {
		if err := node(name, 1, minor); err != nil {
			return err
		}
	}
	for i := range uint32(16) {
		if err := node(fmt.Sprintf("nvidia%d", i), 195, i); err != nil {
			return err
		}
	}
	return node("tty", 5, 0)
}

// pivot makes root the root of the mount namespace and lets go of the host's mounts.
func pivot(root string) error {
	if err := unix.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root %s: %w", root, err)
	}
	// the old root is now stacked over the new one
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the host's root: %w", err)
	}
	return unix.Chdir("/")
}

package machines

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"fsub/testbed/program"
)

// Spec is what a machine is started with.
type Spec struct {
	ID, Addr, Host string
	Dir            string // made by Host.Boot
	UserData       []byte
	Metadata       http.Handler
	Env            func(metadata string) []string // what it finds in its environment, given its metadata service's address
	PowerOff       func(reboot bool)              // the machine's own shutdown command is due. The lock is held
	GPUs           int                            // that answer to nvidia-smi; 0: there is no such command

	closed <-chan struct{} // the cloud is closed: no more grace
}

// Machine is the processes of an instance, its metadata service, and its power switch.
type Machine struct {
	spec    Spec
	server  *http.Server
	power   *os.File // a FIFO: the shutdown command writes its name and arguments
	init    *exec.Cmd
	done    chan struct{} // closed once init has ended
	ending  atomic.Bool
	ordered func(args []string) // its shutdown command was called: its name and arguments
	orders  int                 // counts orders to power off, so that an older one knows that it was taken back
	ready   chan struct{}       // closed once start has returned
	last    string              // its console, once the machine has ended
}

// newMachine is a machine to be started.
func newMachine(spec Spec) *Machine {
	return &Machine{spec: spec, done: make(chan struct{}), ready: make(chan struct{})}
}

// start runs the user data as a new machine's first boot does. Machines have mount, UTS and PID namespaces of their own, which take root to make and
// without which nothing is run: no boot script may switch off, or rename, the machine below. One whose start failed can be ended as well.
func (m *Machine) start(hasDir bool) error {
	defer close(m.ready)
	if !hasDir {
		return nil
	}
	if err := m.furnish(); err != nil {
		return err
	}
	log, err := os.OpenFile(m.path("console.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	m.init = exec.Command("/bin/sh", m.path("init"))
	m.init.Dir, m.init.Stdout, m.init.Stderr = m.path("root"), log, log
	m.init.Env = append(m.spec.Env(m.server.Addr),
		"PATH="+m.path("bin")+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME="+m.path("root"), "LANG=C.UTF-8", "FSUB_POWEROFF="+m.path("bin/poweroff"))
	m.init.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true, Pdeathsig: syscall.SIGKILL, // a stand-in that is killed takes its machines with it
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC,
	}
	if err := program.Spawn(m.init); err != nil {
		m.init = nil
		return fmt.Errorf("start the machine's first process: %w", err)
	}
	go m.watch()
	return m.setUp()
}

// setUp waits until the machine is about to run its user data.
func (m *Machine) setUp() error {
	for {
		if _, err := os.Stat(m.path("up")); err == nil {
			return nil
		}
		select {
		case <-m.done:
			return fmt.Errorf("the machine did not come up: %s", m.Console())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (m *Machine) path(name string) string { return filepath.Join(m.spec.Dir, name) }

// furnish makes the machine's directory and starts its services.
func (m *Machine) furnish() error {
	for _, dir := range []string{"bin", "root"} {
		if err := os.MkdirAll(m.path(dir), 0o755); err != nil {
			return err
		}
	}
	script, err := unpack(m.spec.UserData)
	if err != nil {
		return err
	}
	files := map[string]string{"user-data": script, "init": m.initScript(), "bin/shutdown": m.stub()}
	if m.spec.GPUs > 0 {
		files["bin/nvidia-smi"] = strings.ReplaceAll(nvidiaSMI, "@GPUS@", fmt.Sprint(m.spec.GPUs))
	}
	for name, text := range files {
		if err := writeProgram(m.path(name), text); err != nil {
			return err
		}
	}
	for _, name := range []string{"poweroff", "halt", "reboot", "systemctl"} {
		if err := os.Link(m.path("bin/shutdown"), m.path("bin/"+name)); err != nil {
			return err
		}
	}
	if err := os.Chmod(m.path("user-data"), 0o700); err != nil { // it holds a token
		return err
	}
	if err := m.openPower(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", m.spec.Addr+":0")
	if err != nil {
		return fmt.Errorf("serve the instance's metadata: %w", err)
	}
	m.server = &http.Server{Handler: m.spec.Metadata, Addr: l.Addr().String(), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go m.server.Serve(l)
	return nil
}

// writeProgram writes a file that is to be executed. A process that is forked meanwhile would have it open for writing, and executing it would fail (ETXTBSY).
func writeProgram(path, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, []byte(text), 0o755)
}

// unpack returns user data as a script. cloud-init takes it packed with gzip as well; other forms than scripts are not run.
func unpack(data []byte) (string, error) {
	if zip, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		if data, err = io.ReadAll(zip); err != nil {
			return "", fmt.Errorf("unpack the user data: %w", err)
		}
	}
	if len(data) > 0 && !bytes.HasPrefix(data, []byte("#!")) {
		return "#!/bin/sh\necho 'the user data is no script: it was not run'\n", nil
	}
	return string(data), nil
}

// watch follows the first process. One that ends by itself was hit by reboot(2): the machine is off.
func (m *Machine) watch() {
	m.init.Wait()
	close(m.done)
	if _, err := os.Stat(m.path("up")); err == nil && !m.ending.Load() {
		m.ordered([]string{"poweroff"})
	}
}

// End ends all processes of the machine: SIGTERM, then after the grace SIGKILL. It returns when they are gone, and may be called twice.
func (m *Machine) End(grace time.Duration) {
	<-m.ready
	m.ending.Store(true)
	if m.init != nil {
		m.endNamespace(grace)
	}
	if m.server != nil {
		m.server.Close()
	}
	if m.power != nil {
		m.power.Close()
	}
}

// endNamespace: the first process passes SIGTERM on and ends when it is alone; with it the kernel kills all others.
func (m *Machine) endNamespace(grace time.Duration) {
	if grace > 0 {
		m.init.Process.Signal(syscall.SIGTERM)
		select {
		case <-m.done:
		case <-m.spec.closed:
		case <-time.After(grace):
		}
	}
	m.init.Process.Kill()
	<-m.done
}

// Dir is where its files are: console.log is one.
func (m *Machine) Dir() string { return m.spec.Dir }

// Console returns the end of what the machine's first processes have printed, also of one that has ended by Host.Stop.
func (m *Machine) Console() string {
	if m.last != "" {
		return m.last
	}
	text, err := os.ReadFile(m.path("console.log"))
	if err != nil {
		return ""
	}
	return string(text[max(0, len(text)-64<<10):])
}

// Remove takes the machine's directory away.
func (m *Machine) Remove() { os.RemoveAll(m.spec.Dir) }

// openPower makes the power switch and listens to it.
func (m *Machine) openPower() error {
	if err := syscall.Mkfifo(m.path("power"), 0o600); err != nil {
		return fmt.Errorf("make the power switch: %w", err)
	}
	f, err := os.OpenFile(m.path("power"), os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("open the power switch: %w", err)
	}
	m.power = f
	go func() {
		buf := make([]byte, 4096) // a line is shorter, and a FIFO takes it whole
		for {
			n, err := f.Read(buf)
			if err != nil {
				return
			}
			for line := range strings.Lines(string(buf[:n])) {
				if args := strings.Fields(line); len(args) > 0 {
					m.ordered(args)
				}
			}
		}
	}()
	return nil
}

package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/agentapi"
	"fsub/cloud/local/inside"
	"fsub/cloud/provider"
)

// host runs machines as processes of this host, each in a directory of its own.
type host struct {
	base      string // the provider's directory
	agent     string // path of the agent's binary
	isolation Isolation
	net       *machineNetwork
}

func (h *host) dir(id provider.InstanceID) string {
	return filepath.Join(h.base, "machines", string(id))
}

// process is who the machine is. begun is false as long as nobody is.
func (h *host) process(m *machine) (proc inside.Process, begun bool, err error) {
	text, err := os.ReadFile(filepath.Join(h.dir(m.ID), inside.ProcessFile))
	if errors.Is(err, os.ErrNotExist) {
		return inside.Process{}, false, nil
	}
	if err == nil {
		proc, err = inside.ParseProcess(strings.TrimSpace(string(text)))
	}
	return proc, err == nil, err
}

// present reports whether a machine takes up its place still: one that ended since the last look does not.
func (h *host) present(m *machine) bool {
	if !m.Ended.IsZero() {
		return false
	}
	proc, begun, err := h.process(m)
	return err != nil || !begun || proc.Alive()
}

// lastWords is the end of the agent's log, of a machine that ended by itself.
func (h *host) lastWords(m *machine) string {
	text, err := tail(filepath.Join(h.dir(m.ID), inside.LogFile))
	if err != nil {
		return "its process is gone"
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := lines[len(lines)-1]
	if last == "" {
		return "its process is gone"
	}
	return "its process is gone; it said last: " + last[:min(len(last), 300)]
}

// tail is the end of a file, which may be of any size.
func tail(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 4 << 10
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, max(info.Size()-most, 0), most))
}

// announce writes the notice where the machine looks for one.
func (h *host) announce(id provider.InstanceID, n agentapi.Notice) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(h.dir(id), inside.NoticeFile), text)
}

// endTime is how long a machine's processes may take to die of SIGKILL.
const endTime = 30 * time.Second

// superviseTime is how long a supervisor may take to kill them; on a busy machine it may not run
// for some time.
const superviseTime = 10 * time.Second

// end kills a machine, or sees to it that it never begins. Its directory stays, and with it the
// word that nobody may begin it.
func (h *host) end(m *machine) error {
	if err := os.MkdirAll(h.dir(m.ID), 0o700); err != nil {
		return err
	}
	return h.stop(m)
}

// stop is end for a machine that nobody would begin without its directory: it makes none, for
// somebody may be removing all of them.
func (h *host) stop(m *machine) error {
	_ = inside.Claim(h.dir(m.ID), inside.Nobody) // a concurrent start is too late, or was first
	proc, _, err := h.process(m)
	if err != nil {
		return err
	}
	if err := h.kill(proc); err != nil {
		return err
	}
	h.clear(m)
	return nil
}

// clear removes what a machine without processes has outside of its directory.
func (h *host) clear(m *machine) {
	if h.net.linked(m) {
		h.net.lan.Unlink(m.Addr) // it would go by itself, a little later
	}
	removeCgroups(m.ID)
	// Where the machine's directory has a long name its agent keeps its sockets elsewhere.
	for _, parent := range []string{"/run", "/tmp"} {
		dirs, _ := filepath.Glob(parent + "/fsub-agent-" + string(m.ID) + "-*")
		for _, dir := range dirs {
			_ = os.RemoveAll(dir) // one that is somebody else's stays
		}
	}
}

// kill ends a machine's processes. SIGKILL does for the first of a PID namespace; to a supervisor
// SIGTERM is the sign to kill all of them, and it has a moment for it.
func (h *host) kill(proc inside.Process) error {
	began := time.Now()
	sig, next := unix.SIGKILL, endTime
	if !h.isolation.Processes {
		sig, next = unix.SIGTERM, superviseTime
	}
	if err := proc.Signal(sig); err != nil {
		return err
	}
	for proc.Alive() {
		switch waited := time.Since(began); {
		case waited > endTime:
			return fmt.Errorf("process %d does not end", proc.PID)
		case waited > next:
			next = endTime
			if err := proc.Signal(unix.SIGKILL); err != nil {
				return err
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	return nil
}

// Package chromium drives a headless Chromium in tests, by its DevTools protocol over two pipes: no port is open, and no library is needed. [Start] starts one, as an ordinary
// user; [Browser.Open] opens a [Page], with cookies of its own. What a page complains of in its console, and what its Content-Security-Policy stops, is kept: [Page.Faults].
package chromium

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 2 * time.Minute

// Browser is a running Chromium.
type Browser struct {
	t       testing.TB
	process *exec.Cmd
	in      io.WriteCloser // to the browser
	words   *os.File       // what it said on its standard error

	mu    sync.Mutex
	last  int
	calls map[int]chan message // that wait for their answer
	pages map[string]*Page     // by session
	ended error
}

// message is one of the protocol, in either direction.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts a Chromium that ends with the test. The test is skipped where there is none, and fails there in CI.
func Start(t testing.TB) *Browser {
	t.Helper()
	program, err := find()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI must run this test: %v", err)
		}
		t.Skipf("SKIPPED: %v", err)
	}
	b := &Browser{t: t, calls: map[int]chan message{}, pages: map[string]*Page{}}
	out, err := b.start(program)
	if err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	done := make(chan struct{})
	go func() {
		b.read(out)
		close(done)
	}()
	t.Cleanup(func() {
		b.in.Close() // it ends by that
		select {
		case <-done:
		case <-time.After(10 * time.Second):
		}
		_ = syscall.Kill(-b.process.Process.Pid, syscall.SIGKILL) // and what it has started
		_ = b.process.Wait()
	})
	return b
}

func find() (string, error) {
	for _, name := range []string{"chromium-headless-shell", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Chromium on this machine: install chromium-headless-shell")
}

// start starts the program as an ordinary user, with a home of its own. It returns what the browser says.
func (b *Browser) start(program string) (io.Reader, error) {
	home, err := os.MkdirTemp("", "fsub-browser-")
	if err != nil {
		return nil, err
	}
	b.t.Cleanup(func() { os.RemoveAll(home) })
	cmd := exec.Command(program, "--headless", "--remote-debugging-pipe", "--user-data-dir="+filepath.Join(home, "profile"), "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb", "about:blank")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 { // it refuses to run as root, and should
		nobody, err := ordinary()
		if err == nil {
			err = os.Chown(home, int(nobody.Uid), int(nobody.Gid))
		}
		if err != nil {
			return nil, err
		}
		cmd.SysProcAttr.Credential = nobody
	}
	if !sandboxed(cmd.SysProcAttr.Credential) { // a container may forbid what its sandbox is made of; it sees our own pages only
		cmd.Args = append(cmd.Args[:1:1], append([]string{"--no-sandbox"}, cmd.Args[1:]...)...)
	}
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TZ=UTC"}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirOut.Close()
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4, as --remote-debugging-pipe has them
	if b.words, err = os.CreateTemp("", "fsub-browser-words-"); err != nil {
		return nil, err
	}
	os.Remove(b.words.Name())
	cmd.Stderr = b.words
	b.process, b.in = cmd, in
	return out, cmd.Start()
}

// ordinary is a user who may do nothing.
func ordinary() (*syscall.Credential, error) {
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

// sandboxed reports whether such a user may make the namespaces of which Chromium's sandbox is made.
func sandboxed(as *syscall.Credential) bool {
	cmd := exec.Command("unshare", "--user", "--pid", "--net", "--fork", "true")
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: as}
	return cmd.Run() == nil
}

// read takes what the browser says until it ends.
func (b *Browser) read(from io.Reader) {
	r := bufio.NewReaderSize(from, 1<<20)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			b.end(err)
			return
		}
		var m message
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m); err != nil {
			b.end(err)
			return
		}
		b.mu.Lock()
		if c := b.calls[m.ID]; m.ID != 0 && c != nil {
			delete(b.calls, m.ID)
			c <- m
		}
		page := b.pages[m.Session]
		b.mu.Unlock()
		if m.Method != "" && page != nil {
			page.note(&m)
		}
	}
}

func (b *Browser) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = err
	for id, c := range b.calls {
		delete(b.calls, id)
		close(c)
	}
}

// call asks the browser, or one of its pages, for something.
func (b *Browser) call(session, method string, params, result any) error {
	b.mu.Lock()
	if b.ended != nil {
		b.mu.Unlock()
		return fmt.Errorf("%s: the browser has ended: %w: %s", method, b.ended, b.said())
	}
	b.last++
	m := message{ID: b.last, Session: session, Method: method}
	answered := make(chan message, 1)
	b.calls[m.ID] = answered
	var err error
	if params != nil {
		m.Params, err = json.Marshal(params)
	}
	if err == nil {
		var text []byte
		if text, err = json.Marshal(m); err == nil {
			_, err = b.in.Write(append(text, 0))
		}
	}
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", method, err, b.said())
	}
	select {
	case m, ok := <-answered:
		switch {
		case !ok:
			return fmt.Errorf("%s: the browser has ended: %s", method, b.said())
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case result != nil:
			return json.Unmarshal(m.Result, result)
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer within %s", method, patience)
	}
}

// said is what the browser wrote to its standard error.
func (b *Browser) said() string {
	text := make([]byte, 4000)
	n, _ := b.words.ReadAt(text, 0)
	return string(text[:n])
}

package home

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fsub/federation"
	"fsub/federation/staging"
)

// Spawner implements staging.Files. Command starts a process that calls [Child]: this program, usually.
type Spawner struct {
	Command []string
	// Stuck is how long a process may move no byte before it is ended; zero: five minutes.
	Stuck time.Duration
}

// request is the first line that a child reads.
type request struct {
	Do     string         `json:"do"` // "pack", "unpack", "link", "write", "tail", "read", "remove"
	Dir    string         `json:"dir,omitempty"`
	Items  []staging.Item `json:"items,omitempty"`
	Max    int64          `json:"max,omitempty"`
	Name   string         `json:"name,omitempty"`
	Names  []string       `json:"names,omitempty"`
	Append bool           `json:"append,omitempty"`
	Umask  int            `json:"umask"`
}

// Statuses of a child that failed: whose fault it was.
const (
	exitInvalid = 3
	exitDenied  = 4
)

// Pack implements staging.Files.
func (s Spawner) Pack(ctx context.Context, u staging.User, dir string, items []staging.Item, max int64, w io.Writer) error {
	// The child counts the files' bytes. It is its user's, who might change its mind: so the archive is bounded here too, with
	// room for many small files.
	limited := &limitedWriter{w: w, left: 2*max + 64<<20}
	err := s.run(ctx, u, request{Do: "pack", Dir: dir, Items: items, Max: max}, nil, limited)
	if limited.left < 0 {
		return &federation.SlurmError{Kind: federation.ErrInvalid, Text: "stage-in: the archive of the files is much larger than the files may be (blobs: max_mib)"}
	}
	return err
}

// Unpack implements staging.Files.
func (s Spawner) Unpack(ctx context.Context, u staging.User, dir string, item staging.Item, max int64, r io.Reader) (int, error) {
	var out bytes.Buffer
	err := s.run(ctx, u, request{Do: "unpack", Dir: dir, Items: []staging.Item{item}, Max: max}, r, &out)
	n, _ := strconv.Atoi(strings.TrimSpace(out.String()))
	return n, err
}

// Link implements staging.Files.
func (s Spawner) Link(ctx context.Context, u staging.User, dir string, items []staging.Item) error {
	return s.run(ctx, u, request{Do: "link", Dir: dir, Items: items}, nil, io.Discard)
}

// Write implements staging.Files.
func (s Spawner) Write(ctx context.Context, u staging.User, name string, appendTo bool, r io.Reader) error {
	return s.run(ctx, u, request{Do: "write", Name: name, Append: appendTo}, r, io.Discard)
}

// Tail reads the last bytes of a regular file.
func (s Spawner) Tail(ctx context.Context, u staging.User, name string, most int64) ([]byte, error) {
	var out bytes.Buffer
	err := s.run(ctx, u, request{Do: "tail", Name: name, Max: most}, nil, &limitedWriter{w: &out, left: most})
	return out.Bytes(), err
}

// Read reads regular files, together at most so many bytes. One that is not there is nil.
func (s Spawner) Read(ctx context.Context, u staging.User, names []string, most int64) ([][]byte, error) {
	var out bytes.Buffer
	room := most + int64(len(names))*24
	if err := s.run(ctx, u, request{Do: "read", Names: names, Max: most}, nil, &limitedWriter{w: &out, left: room}); err != nil {
		return nil, err
	}
	texts := make([][]byte, len(names))
	for i := range names {
		line, err := out.ReadString('\n')
		size, err2 := strconv.Atoi(strings.TrimSpace(line))
		switch {
		case err != nil || err2 != nil || size > out.Len():
			return nil, fmt.Errorf("files of %s: what was read of %s makes no sense", u.Name, names[i])
		case size >= 0:
			texts[i] = bytes.Clone(out.Next(size))
			if texts[i] == nil {
				texts[i] = []byte{}
			}
		}
	}
	return texts, nil
}

// Remove removes files. Those that are not there are no error.
func (s Spawner) Remove(ctx context.Context, u staging.User, names []string) error {
	return s.run(ctx, u, request{Do: "remove", Names: names}, nil, io.Discard)
}

func (s Spawner) run(ctx context.Context, u staging.User, req request, in io.Reader, out io.Writer) error {
	cred, err := credential(u)
	if err != nil {
		return err
	}
	req.Umask = u.Umask
	line, err := json.Marshal(req)
	if err != nil {
		return err
	}
	if in == nil {
		in = strings.NewReader("")
	}
	var moved progress
	outer := ctx
	ctx, done := moved.watch(ctx, cmp.Or(s.Stuck, stuckAfter), u.Name)
	defer done()
	cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred, Setsid: true} // it ends when the pipes do
	source := &keepError{r: in}
	cmd.Stdin = moved.reader(io.MultiReader(bytes.NewReader(append(line, '\n')), source))
	cmd.Stdout = moved.writer(out)
	stderr := &tail{}
	cmd.Stderr = stderr
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case outer.Err() != nil:
		return outer.Err()
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case source.err != nil:
		return source.err
	case errors.As(err, &exit):
		return childError(exit.ExitCode(), u, stderr.String())
	}
	return err
}

// childError is the message of a child that failed.
func childError(code int, u staging.User, said string) error {
	switch code {
	case exitInvalid:
		return &federation.SlurmError{Kind: federation.ErrInvalid, Text: said}
	case exitDenied:
		return &federation.SlurmError{Kind: federation.ErrDenied, Text: said}
	}
	return fmt.Errorf("files of %s: %s (status %d)", u.Name, said, code)
}

// credential is the user to be, nil if this process is that user already.
func credential(u staging.User) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		if uint32(os.Geteuid()) == u.UID {
			return nil, nil
		}
		return nil, fmt.Errorf("%w: the daemon cannot act as %s: it does not run as root", federation.ErrDenied, u.Name)
	}
	c := &syscall.Credential{Uid: u.UID, Gid: u.GID}
	known, err := user.LookupId(strconv.FormatUint(uint64(u.UID), 10))
	if err != nil {
		return nil, fmt.Errorf("%w: uid %d is not a user of this machine: %w", federation.ErrDenied, u.UID, err)
	}
	groups, err := known.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("groups of %s: %w", u.Name, err)
	}
	for _, g := range groups {
		n, err := strconv.ParseUint(g, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("groups of %s: %w", u.Name, err)
		}
		c.Groups = append(c.Groups, uint32(n))
	}
	return c, nil
}

// limitedWriter fails once it was given too much.
type limitedWriter struct {
	w    io.Writer
	left int64
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errors.New("too much")
	}
	return l.w.Write(p)
}

// keepError remembers why a reader failed: the child sees only that its input ended.
type keepError struct {
	r   io.Reader
	err error
}

func (k *keepError) Read(p []byte) (int, error) {
	n, err := k.r.Read(p)
	if err != nil && err != io.EOF {
		k.err = err
	}
	return n, err
}

// tail keeps the first KiB of what a child says.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if room := 1024 - t.Len(); room > 0 {
		t.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (t *tail) String() string {
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(t.Buffer.String(), "\n", " "), "?"))
}

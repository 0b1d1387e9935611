package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/agentapi"
	"fsub/federation"
)

// logs are the files that hold the output of runs: one writer at a time each.
type logs struct {
	mu    sync.Mutex
	files map[string]*logFile
}

type logFile struct {
	mu    sync.Mutex
	users int
}

// lock waits until nobody else writes a file.
func (l *logs) lock(name string) (unlock func()) {
	l.mu.Lock()
	if l.files == nil {
		l.files = map[string]*logFile{}
	}
	f := l.files[name]
	if f == nil {
		f = &logFile{}
		l.files[name] = f
	}
	f.users++
	l.mu.Unlock()
	f.mu.Lock()
	return func() {
		f.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if f.users--; f.users == 0 {
			delete(l.files, name)
		}
	}
}

// Log implements Agents.
func (d *Driver) Log(ctx context.Context, id MachineID, run, stream string, offset int64, body io.Reader) (int64, error) {
	if err := d.isLoaded(ctx); err != nil {
		return 0, err
	}
	d.mu.Lock()
	m, err := d.machine(id)
	if err == nil {
		if _, over := m.over[run]; m.runs[run] == nil && !over || stream != "out" && stream != "err" {
			err = fmt.Errorf("output %.10q of run %.60q is not one of machine %s: %w", stream, run, id, federation.ErrDenied)
		}
	}
	d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if d.cfg.LogDir == "" {
		n, err := io.Copy(io.Discard, body)
		return offset + n, err
	}
	if err := d.roomForLogs(); err != nil {
		d.log.Error("a job's output is not kept", "run", run, "stream", stream, "err", err)
		return 0, err
	}
	name := run + "." + stream
	defer d.logs.lock(name)()
	size, err := appendLog(filepath.Join(d.cfg.LogDir, name), offset, body)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heard(m)
	if !m.stops[run].IsZero() {
		m.stops[run] = d.now() // it is busy with what the run has left to send
	}
	return size, err
}

// roomForLogs fails with ErrDenied, after which an agent sends no more of an output, when the disk is nearly full: asked to try again it would keep its machine
// until there is room.
func (d *Driver) roomForLogs() error {
	var st unix.Statfs_t
	if err := unix.Statfs(d.cfg.LogDir, &st); err != nil {
		return fmt.Errorf("keep output: %w: %w", err, federation.ErrUnavailable)
	}
	if free := st.Bavail * uint64(st.Bsize); free < d.cfg.LogReserve {
		return fmt.Errorf("%d MiB are free where the output of jobs is kept, and %d MiB stay so: %w", free>>20, d.cfg.LogReserve>>20, federation.ErrDenied)
	}
	return nil
}

// appendLog appends what of body is not in the file yet, and returns the file's size.
func appendLog(path string, offset int64, body io.Reader) (int64, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, fmt.Errorf("keep output: %w: %w", err, federation.ErrUnavailable)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("keep output: %w: %w", err, federation.ErrUnavailable)
	}
	size := info.Size()
	if offset > size {
		return size, fmt.Errorf("output from byte %d comes before that from byte %d: %w", offset, size, federation.ErrConflict)
	}
	if offset < size {
		n, err := io.CopyN(io.Discard, body, size-offset)
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			return size, nil
		}
		if err != nil {
			return size, fmt.Errorf("output: %w: %w", err, federation.ErrUnavailable)
		}
	}
	n, err := io.Copy(f, body)
	if err != nil {
		err = fmt.Errorf("output: %w: %w", err, federation.ErrUnavailable)
	}
	return size + n, err
}

// tidyLogs removes output that nobody has asked for in a long time.
func (d *Driver) tidyLogs(ctx context.Context) {
	for d.cfg.LogDir != "" {
		list, err := os.ReadDir(d.cfg.LogDir)
		if err != nil {
			d.log.Warn("look for old output", "err", err)
		}
		for _, f := range list {
			if info, err := f.Info(); err == nil && d.now().Sub(info.ModTime()) > d.t.Logs {
				if err := os.Remove(filepath.Join(d.cfg.LogDir, f.Name())); err != nil {
					d.log.Warn("remove old output", "err", err)
				}
			}
		}
		if !sleep(ctx, time.Hour) {
			return
		}
	}
}

// ReadLog implements federation.LogReader: of the last run of an attempt.
func (d *Driver) ReadLog(ctx context.Context, j *federation.Job, a *federation.Attempt, task int, stderr bool, offset int64, max int) (federation.LogPart, error) {
	if err := d.isLoaded(ctx); err != nil {
		return federation.LogPart{}, err
	}
	run, done, twoFiles, err := d.lastRun(ctx, a.Ref())
	if err != nil {
		return federation.LogPart{}, err
	}
	name := run + ".out"
	if stderr && twoFiles {
		name = run + ".err"
	}
	f, err := os.Open(filepath.Join(d.cfg.LogDir, name))
	if errors.Is(err, fs.ErrNotExist) || d.cfg.LogDir == "" {
		return federation.LogPart{Done: done}, fmt.Errorf("output of job %d: %w", j.ID, federation.ErrNotFound)
	}
	if err != nil {
		return federation.LogPart{}, err
	}
	defer f.Close()
	text := make([]byte, max)
	n, err := f.ReadAt(text, offset)
	if err != nil && err != io.EOF {
		return federation.LogPart{}, err
	}
	more := err == nil
	return federation.LogPart{Text: text[:n], More: more, Done: done && !more}, nil
}

// lastRun is the newest run of an attempt, and whether it writes no more.
func (d *Driver) lastRun(ctx context.Context, ref federation.JobRef) (run string, done, twoFiles bool, err error) {
	d.mu.Lock()
	j := d.jobs[ref.ID]
	var r *jobRecord
	if j != nil && j.Key == ref.Key {
		r = &j.jobRecord
		done = j.run == nil || j.run.Members[0].State == agentapi.RunEnded
		if r.Run != nil {
			run = r.Run.ID
		}
		twoFiles = twoOutputs(r)
	}
	d.mu.Unlock()
	if r == nil {
		if r, err = d.inBooks(ctx, ref); err != nil {
			return "", false, false, err
		}
		done, twoFiles = true, twoOutputs(r)
		if r.Run != nil {
			run = r.Run.ID
		}
	}
	if run == "" || strings.ContainsRune(run, '/') {
		return "", false, false, fmt.Errorf("job %d has not started: %w", ref.ID, federation.ErrNotFound)
	}
	return run, done && !r.End.IsZero(), twoFiles, nil
}

// twoOutputs reports whether a job's errors go to a file of their own.
func twoOutputs(r *jobRecord) bool {
	return r.Job.Spec.Error != "" && r.Job.Spec.Error != r.Job.Spec.Output
}

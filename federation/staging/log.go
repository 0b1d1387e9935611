package staging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"fsub/federation"
)

// state is a node's last report about a task.
type state struct {
	Known    bool  // the node has reported
	Out, Err int64 // bytes of output that count
	Run      int   // how often the site had requeued it
	Done     bool  // the script has ended and everything was sent
	Status   int   // of the script
	Older    bool  // the newest copy of what it keeps was damaged, and the one before was used
	Lost     bool  // no copy was whole, and the script was not started
}

func parseState(text string) (state, error) {
	var s state
	var done string
	_, err := fmt.Sscanf(text, "out %d err %d run %d done %s", &s.Out, &s.Err, &s.Run, &done)
	if err != nil || s.Out < 0 || s.Err < 0 {
		return state{}, fmt.Errorf("what the node said cannot be read: %.80q", text)
	}
	if done != "-" {
		s.Done = true
		s.Status, err = strconv.Atoi(done)
	}
	text = strings.TrimSpace(text)
	s.Older, s.Lost = strings.HasSuffix(text, " keep older"), strings.HasSuffix(text, " keep lost")
	s.Known = true
	s.Out, s.Err = min(s.Out, MaxLog), min(s.Err, MaxLog)
	return s, err
}

// state reads a node's report about a task; federation.ErrNotFound if there is none.
func (s *Stager) state(ctx context.Context, prefix string, task int) (state, error) {
	text, err := s.read(ctx, prefix+taskName(task)+"/state")
	if err != nil {
		return state{}, err
	}
	return parseState(text)
}

// read reads a small object.
func (s *Stager) read(ctx context.Context, key string) (string, error) {
	r, err := s.cfg.Objects.Get(ctx, key, 0, 500)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return string(text), err
}

// ReadLog implements federation.LogReader.
func (s *Stager) ReadLog(ctx context.Context, j *federation.Job, a *federation.Attempt, task int, stderr bool, offset int64, max int) (federation.LogPart, error) {
	prefix := prefixOf(a.Key)
	st, err := s.state(ctx, prefix, task)
	if err != nil {
		return federation.LogPart{}, err
	}
	stream, size := "out", st.Out
	if stderr && s.twoFiles(j) {
		stream, size = "err", st.Err
	}
	r := &logReader{ctx: ctx, objects: s.cfg.Objects, prefix: prefix + taskName(task) + "/" + stream + ".", at: offset, end: min(size, offset+int64(max))}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return federation.LogPart{}, err
	}
	read := offset + int64(len(text))
	return federation.LogPart{Text: text, More: read < size && len(text) > 0, Done: st.Done && read >= size}, nil
}

// twoFiles reports whether a job's errors go to a file of their own.
func (s *Stager) twoFiles(j *federation.Job) bool {
	return j.Spec.Error != "" && s.cfg.Output(j, nil, true) != s.cfg.Output(j, nil, false)
}

// logReader reads one stream over its pieces, from at to end.
type logReader struct {
	ctx     context.Context
	objects Objects
	prefix  string
	at, end int64
	piece   io.ReadCloser
	last    int64 // where the open piece ends
}

func (l *logReader) Read(p []byte) (int, error) {
	for {
		if l.at >= l.end {
			return 0, io.EOF
		}
		if l.piece == nil {
			if err := l.open(); err != nil {
				return 0, err
			}
		}
		n, err := l.piece.Read(p)
		l.at += int64(n)
		if n > 0 || err != nil && err != io.EOF {
			if err == io.EOF {
				err = nil
			}
			return n, err
		}
		if err == io.EOF {
			if l.at < l.last { // it has become shorter: the task was started again, and its state is read in a moment
				return 0, io.EOF
			}
			l.Close()
		}
	}
}

func (l *logReader) open() (err error) {
	k := 0
	for k < pieces-1 && pieceStart(k+1) <= l.at {
		k++
	}
	l.last = min(pieceStart(k+1), l.end)
	l.piece, err = l.objects.Get(l.ctx, l.prefix+strconv.Itoa(k), l.at-pieceStart(k), l.last-l.at)
	return err
}

// Close implements io.Closer.
func (l *logReader) Close() error {
	if l.piece == nil {
		return nil
	}
	err := l.piece.Close()
	l.piece = nil
	return err
}

// notThere reports whether err means that the object does not exist.
func notThere(err error) bool { return errors.Is(err, federation.ErrNotFound) }

func text(s string) io.Reader { return strings.NewReader(s) }

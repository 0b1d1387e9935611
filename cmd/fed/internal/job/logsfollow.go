package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/reasons"
)

// logPause is the time between two looks at an output that is followed.
const logPause = 500 * time.Millisecond

// logs copies one output to out.
type logs struct {
	client      *client.Client
	ref         client.LogRef
	name        string // the job as it was asked for
	follow      bool
	out, errOut io.Writer
	tail        *tail // what out is, if only the last lines of what is there are wanted

	offset  int64
	attempt int
	file    string // file that offset refers to
	said    bool   // the daemon has answered once
}

// run returns when everything there is was copied or, if the output is followed, when the job has
// ended. A follower does not mind a daemon that is away for a while.
func (l *logs) run(ctx context.Context) error {
	for {
		done, err := l.look(ctx)
		switch {
		case errors.Is(err, federation.ErrUnavailable) && l.follow && l.said, ctx.Err() == nil && err == nil && !done:
		case ctx.Err() != nil && l.follow:
			return nil
		default:
			return err
		}
		select {
		case <-time.After(logPause):
		case <-ctx.Done():
		}
	}
}

// look copies what is new.
func (l *logs) look(ctx context.Context) (done bool, err error) {
	info, err := l.client.Log(ctx, l.ref)
	if err != nil {
		return false, fmt.Errorf("job %s: %w", l.name, err)
	}
	if l.follow && info.Attempt != l.attempt && l.attempt != 0 && l.offset > 0 {
		fmt.Fprintf(l.errOut, "fed: job %s was started again\n", l.name)
		l.offset = 0
	}
	l.attempt = info.Attempt
	there := false
	if info.Staged {
		there, err = l.copyStaged(ctx)
	}
	if err == nil && !there && (!info.Staged || info.Ended) {
		there, err = l.copyFile(info.File)
	}
	if err == nil && l.tail != nil {
		err = l.tail.flush()
	}
	switch {
	case err != nil:
		return false, err
	case !l.follow && !there:
		return true, l.nothing(info)
	case !there && (info.Ended || !l.said):
		fmt.Fprintf(l.errOut, "fed: %v\n", l.nothing(info))
	}
	l.said = true
	return !l.follow || info.Ended, nil
}

// nothing explains why there is no output.
func (l *logs) nothing(info *v1.Log) error {
	reason := ""
	if info.Reason != "" && info.Reason != reasons.None {
		reason = " (" + string(info.Reason) + ")"
	}
	if info.Ended {
		return noOutput(fmt.Sprintf("job %s ended as %s%s and left no output: there is no %s", l.name, info.State, reason, info.File))
	}
	return noOutput(fmt.Sprintf("job %s has no output yet: it is %s%s", l.name, info.State, reason))
}

// noOutput is why there is none.
type noOutput string

func (e noOutput) Error() string { return string(e) }

// copyStaged copies what the daemon has; there: it has something, be it empty.
func (l *logs) copyStaged(ctx context.Context) (there bool, err error) {
	for {
		text, word, err := l.client.LogText(ctx, l.ref, l.offset)
		if err != nil {
			return false, fmt.Errorf("job %s: %w", l.name, err)
		}
		if _, err := l.out.Write(text); err != nil {
			return false, err
		}
		l.offset += int64(len(text))
		if word != "more" {
			return word != "none", nil
		}
	}
}

// copyFile copies what a file has beyond the offset, with the caller's own rights.
func (l *logs) copyFile(name string) (there bool, err error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe would block forever
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false, err
	}
	if !st.Mode().IsRegular() {
		return false, fmt.Errorf("the output of job %s goes to %s, which keeps nothing to show", l.name, name)
	}
	if name != l.file && l.file != "" || st.Size() < l.offset { // a new file, or a truncated one
		l.offset = 0
	}
	l.file = name
	n, err := io.Copy(l.out, io.NewSectionReader(f, l.offset, st.Size()-l.offset))
	l.offset += n
	return true, err
}

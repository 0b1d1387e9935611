package home

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Child does one piece of work, which it reads from in, as the user that this process is. It returns the process's exit status.
func Child(in io.Reader, out, stderr io.Writer) int {
	err := serve(bufio.NewReader(in), out)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, plain(err))
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EDQUOT):
		return exitDenied
	case errors.As(err, new(userError)), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		return exitInvalid
	}
	return 1
}

// userError is a mistake that trying again does not cure.
type userError struct{ text string }

func (e userError) Error() string { return e.text }

func userErrorf(format string, args ...any) error { return userError{fmt.Sprintf(format, args...)} }

// plain is an error as a user reads it: without the name of the system call.
func plain(err error) string {
	text := err.Error()
	var p *fs.PathError
	if errors.As(err, &p) {
		text = strings.Replace(text, p.Error(), p.Path+": "+p.Err.Error(), 1)
	}
	return text
}

func serve(in *bufio.Reader, out io.Writer) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	var req request
	if err := json.Unmarshal(line, &req); err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	syscall.Umask(req.Umask)
	switch req.Do {
	case "pack":
		return pack(req, out)
	case "unpack":
		n, err := unpack(req, in)
		fmt.Fprintln(out, n)
		return err
	case "link":
		return link(req)
	case "write":
		return write(req, in)
	case "tail":
		return lastOf(req, out)
	case "read":
		return read(req, out)
	case "remove":
		return remove(req)
	}
	return fmt.Errorf("asked to %q", req.Do)
}

// write copies its input into a file. It leaves alone anything but a regular file (a pipe, a
// terminal), which could block forever.
func write(req request, in io.Reader) error {
	if st, err := os.Stat(req.Name); err == nil && !st.Mode().IsRegular() {
		if st.Mode()&fs.ModeDevice != 0 { // /dev/null
			_, err := io.Copy(io.Discard, in)
			return err
		}
		return userErrorf("%s is not a regular file", req.Name)
	}
	flags := os.O_CREATE | os.O_WRONLY
	if req.Append {
		flags |= os.O_APPEND
	} else {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(req.Name, flags, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	return errors.Join(err, f.Close())
}

// read writes regular files, each after a line with its size; -1: there is none. All of them together are at most req.Max bytes: further ones are left out.
func read(req request, out io.Writer) error {
	w := bufio.NewWriter(out)
	left := req.Max
	for _, name := range req.Names {
		text, err := readOne(name, left)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintln(w, -1)
			continue
		}
		if err != nil {
			return err
		}
		left -= int64(len(text))
		fmt.Fprintln(w, len(text))
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return w.Flush()
}

func readOne(name string, most int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(err, userErrorf("%s is not a regular file", name))
	}
	return io.ReadAll(io.LimitReader(f, most))
}

func remove(req request) (err error) {
	for _, name := range req.Names {
		if e := os.Remove(name); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// lastOf copies the end of a regular file. A pipe is not waited for.
func lastOf(req request, out io.Writer) error {
	f, err := os.OpenFile(req.Name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return userErrorf("%s is not a regular file", req.Name)
	}
	_, err = io.Copy(out, io.NewSectionReader(f, max(st.Size()-req.Max, 0), req.Max))
	return err
}

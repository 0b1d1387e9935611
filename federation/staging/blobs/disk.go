package blobs

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A disk writes an object that is to be on the disk when it counts as written. What comes goes past the page cache, where the file system can do that: through it a
// GiB takes several times as much processor time, displaces what others read, and most of it is written only at the end. One buffer is read into while another is written.
type disk struct{ file *os.File }

const (
	chunk = 1 << 20
	block = 4096 // of such writes: their places in memory and in the file are multiples of it, and so are their lengths
	// mostDirect is how many objects are written so at one time, since each takes two chunks of memory. Others go through the page cache.
	mostDirect = 8
)

var errNotDirect = errors.New("the file cannot be written through the page cache any more")

var direct = make(chan struct{}, mostDirect)

// take gets to know the file.
func (d *disk) take(as func(any) bool) error {
	as(&d.file)
	return nil
}

// copy writes what r has. w writes to the file.
func (d *disk) copy(w io.Writer, r io.Reader) error {
	first := make([]byte, 32<<10)
	n, err := io.ReadFull(r, first)
	r = io.MultiReader(bytes.NewReader(first[:n]), r)
	short := err == io.EOF || err == io.ErrUnexpectedEOF
	if err != nil && !short {
		return err
	}
	select {
	case direct <- struct{}{}:
		defer func() { <-direct }()
		short = short || !d.setDirect(true)
	default:
		short = true
	}
	if short {
		_, err = io.Copy(w, r)
	} else {
		err = d.long(w, r)
	}
	if err != nil {
		return err
	}
	return d.file.Sync()
}

// setDirect reports whether the file system can do it.
func (d *disk) setDirect(on bool) bool {
	flags, err := unix.FcntlInt(d.file.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return false
	}
	if flags &^= unix.O_DIRECT; on {
		flags |= unix.O_DIRECT
	}
	_, err = unix.FcntlInt(d.file.Fd(), unix.F_SETFL, flags)
	return err == nil
}

// long writes chunks past the page cache, and what is left at the end through it.
func (d *disk) long(w io.Writer, r io.Reader) error {
	memory, err := unix.Mmap(-1, 0, 2*chunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE) // begins with a page
	if err != nil {
		return err
	}
	free, full, failed := make(chan []byte, 2), make(chan []byte, 2), make(chan error, 1)
	free <- memory[:chunk]
	free <- memory[chunk:]
	go func() {
		defer close(failed)
		for b := range full {
			if err := d.write(w, b); err != nil {
				failed <- err
				return
			}
			free <- b[:chunk]
		}
	}()
	for err == nil {
		select {
		case b := <-free:
			var n int
			n, err = io.ReadFull(r, b)
			full <- b[:n]
		case err = <-failed:
		}
	}
	close(full)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	if e, ok := <-failed; ok {
		err = e
	}
	return errors.Join(err, unix.Munmap(memory))
}

// write writes a chunk, of which all but the last is full.
func (d *disk) write(w io.Writer, b []byte) error {
	whole := len(b) / block * block
	n, err := w.Write(b[:whole])
	if err == nil && whole == len(b) {
		return nil
	}
	if !d.setDirect(false) { // the rest, or all of it: there are file systems that refuse only when it comes to writing
		return cmp.Or(err, errNotDirect)
	}
	_, err = w.Write(b[n:])
	return err
}

package steps

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"

	"fsub/cloud/steps/wire"
)

// file is the one that a step receives.
type file wire.File

// receiveWord stands before the File in the command line of the step daemon's other self.
const receiveWord = "receive"

// receive is a task whose stdin is the file. Its exit code is an error's number.
func receive(order string, in io.Reader) int {
	var f file
	if json.Unmarshal([]byte(order), &f) != nil {
		return int(syscall.EINVAL)
	}
	if err := f.write(in); err != nil {
		if n, ok := errors.AsType[syscall.Errno](err); ok {
			return int(n)
		}
		return int(syscall.EIO)
	}
	return 0
}

func (f *file) write(in io.Reader) error {
	name := f.Dest
	if f.Force { // it may run, and a program that runs cannot be written to; and several nodes may share the folder
		name += ".sbcast-" + strconv.Itoa(os.Getpid()) + "-" + os.Getenv("SLURM_NODEID")
	}
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, in)
	err = errors.Join(err, to.Chmod(f.Mode), to.Close())
	if err == nil && !f.Modified.IsZero() {
		err = os.Chtimes(name, f.Accessed, f.Modified)
	}
	if err == nil && f.Force {
		err = os.Rename(name, f.Dest)
	}
	if err != nil {
		os.Remove(name)
	}
	return err
}

// Package nofile knows the limit of open files that this process was started with. Package syscall
// raises the soft limit to the hard one before main runs and keeps the old value to itself, but a
// job is to get the limit that its user had. So it is asked for earlier: packages are initialised
// in the order of their import paths as far as their imports allow, this one imports nothing, and
// its path comes before "syscall". A test holds that this is so.
package nofile

// Soft is the soft limit at the start of the process.
var Soft = read()

func read() uint64 {
	var lim struct{ cur, max uint64 }
	getrlimit(7, &lim) // RLIMIT_NOFILE
	return lim.cur
}

// getrlimit is the system call of that name. It fails on no Linux for this resource.
//
//go:noescape
func getrlimit(resource uintptr, lim *struct{ cur, max uint64 })

package staging

import (
	"context"
	"io"
	"time"

	"fsub/federation"
)

// Objects is the store. Errors wrap federation.ErrNotFound where there is no such object; all others may pass.
type Objects interface {
	// Put writes an object whole or not at all.
	Put(ctx context.Context, key string, r io.Reader) error
	// Get reads up to length bytes from offset on; a negative length is all.
	Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	Size(ctx context.Context, key string) (int64, error)
	// List calls each with the key of every object below prefix until that fails.
	List(ctx context.Context, prefix string, each func(key string, at time.Time) error) error
	Delete(ctx context.Context, key string) error
	// Sign returns an address with which anybody may GET or PUT this one object for so long.
	Sign(ctx context.Context, method, key string, life time.Duration) (string, error)
	// PutHeaders are "Name: value" lines that a PUT by address must have.
	PutHeaders() []string
}

// User is as whom files are read and written: on this machine.
type User struct {
	Name     string
	UID, GID uint32
	Umask    int
}

// Files reads and writes the files of users with no more rights than they have themselves. ErrInvalid: there is no such file, or
// it is too large; ErrDenied: the user may not.
type Files interface {
	// Pack writes a tar archive of what items name, From taken from dir and To below the archive's root, of at most max bytes.
	Pack(ctx context.Context, u User, dir string, items []Item, max int64, w io.Writer) error
	// Unpack puts the files of an archive, which item's From named, where its To says, taken from dir. It returns their number.
	Unpack(ctx context.Context, u User, dir string, item Item, max int64, r io.Reader) (files int, err error)
	// Link makes symbolic links in dir, where items' To say, to what their From name. What is there already stays.
	Link(ctx context.Context, u User, dir string, items []Item) error
	// Write replaces a file, or appends to it. Missing directories are not made: sbatch does not either.
	Write(ctx context.Context, u User, name string, appendTo bool, r io.Reader) error
}

// None is the Stager of a federation that has no store: it makes links.
type None struct{ *Stager }

// Prepare implements federation.Stager.
func (None) Prepare(_ context.Context, site federation.SiteName, s federation.Submission) (federation.Submission, error) {
	return s, &federation.SlurmError{Kind: federation.ErrCapacity, Text: "Requested node configuration is not available",
		Detail: string(site) + " does not see " + s.Job.Spec.WorkDir + ", and there is no store to carry files through; set blobs in the daemon's configuration"}
}

// Collect implements federation.Stager.
func (None) Collect(context.Context, *federation.Job, *federation.Attempt, federation.SiteJob) ([]string, int64, error) {
	return nil, 0, nil
}

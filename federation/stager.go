package federation

import (
	"context"

	"fsub/accounting/egress"
)

// Stager carries the files of a job to a site that does not see the job's working directory ([Site.Sees]), and brings
// home what the job has written there. Whatever it does may be done again: after a crash the controller asks anew.
type Stager interface {
	// Prepare puts the job's script and files where the site's nodes can fetch them, and returns the submission that the
	// site gets instead of s: a script that fetches them, runs the user's own script unchanged, and sends back what it
	// wrote. ErrInvalid and ErrDenied: what the user asked for cannot be had, at no site; the user was told in the job's
	// output file as far as that can be written. Any other error may pass.
	Prepare(ctx context.Context, site SiteName, s Submission) (Submission, error)

	// Link puts what a job asks to be staged in under another name, or from elsewhere, where its script looks for it, for a site that sees its working
	// directory: as links in that directory, or as copies of what the site does not see. What is there already stays. Errors are as of Prepare; egress.ErrDamaged: no copy of what the job keeps is whole.
	Link(ctx context.Context, s Submission, sees func(name string) bool) error

	// Collect writes what the attempt has sent back to where it would be had the job run in its working directory: its
	// output, and what it asked to be staged out. Notes are for the job's history. Nothing sent back is not an error but a
	// note; ErrInvalid and ErrDenied will not pass by trying again; egress.ErrDamaged says that the script was not started since no copy of what it keeps is whole.
	// The next attempt then begins without one. Bytes are what the site has sent, the same however often it is asked.
	Collect(ctx context.Context, j *Job, a *Attempt, ended SiteJob) (notes []string, bytes int64, err error)

	// Kept is what the attempt has saved of the paths that the job keeps (#FSUB --keep); nil: nothing. Of several copies it is the newest whole one, with which the
	// next run starts.
	Kept(ctx context.Context, a *Attempt) (*egress.Kept, error)
}

// LogPart is a piece of a job's output.
type LogPart struct {
	Text []byte
	More bool // there is more to read at once
	Done bool // this is its end: the job will write no more
}

// LogReader reads the output of jobs whose site does not see their working directory.
type LogReader interface {
	// ReadLog reads up to max bytes from offset on, of the output of an attempt or of its errors. task is the index of an array's
	// task, -1 for any other job. ErrNotFound: nothing was sent yet, or it is no longer kept.
	ReadLog(ctx context.Context, j *Job, a *Attempt, task int, stderr bool, offset int64, max int) (LogPart, error)
}

package daemon

import (
	"context"
	"errors"

	"fsub/federation"
)

// poolLogs reads the output of jobs on rented machines, which send it while they write it, and of
// all other jobs by another reader.
type poolLogs struct {
	bySite map[federation.SiteName]federation.LogReader
	others federation.LogReader // nil: there is none
}

// ReadLog implements federation.LogReader.
func (p poolLogs) ReadLog(ctx context.Context, j *federation.Job, a *federation.Attempt, task int, stderr bool, offset int64, max int) (federation.LogPart, error) {
	if r := p.bySite[a.Site]; r != nil {
		part, err := r.ReadLog(ctx, j, a, task, stderr, offset, max)
		if !errors.Is(err, federation.ErrNotFound) || p.others == nil {
			return part, err
		}
	}
	if p.others == nil {
		return federation.LogPart{}, federation.ErrNotFound
	}
	return p.others.ReadLog(ctx, j, a, task, stderr, offset, max)
}

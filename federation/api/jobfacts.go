package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	v1 "fsub/federation/api/v1"
	"fsub/federation/jobmail"
	"fsub/federation/usage"
	"fsub/slurm/wire"
)

// JobFacts tells what mails say of jobs: it implements [jobmail.Facts].
type JobFacts struct {
	lister *restd.Lister
	usage  usage.Store // nil: nothing was measured
	logs   *logs
	// Tail reads the last bytes of a file with the rights of a job's user; nil: no files are read.
	Tail func(ctx context.Context, j *federation.Job, file string, most int64) ([]byte, error)
	// Coordinators are those of an account; nil: there are no accounts.
	Coordinators func(account string) []string
}

var _ jobmail.Facts = (*JobFacts)(nil)

// NewJobFacts returns what tells of the jobs of s. It lacks Tail and Coordinators.
func NewJobFacts(s *Server) *JobFacts {
	return &JobFacts{lister: s.lister, usage: s.cfg.Usage, logs: &s.logs}
}

// Limit implements [jobmail.Facts].
func (f *JobFacts) Limit(j *federation.Job) time.Duration { return f.lister.View().Limit(j) }

// Leads implements [jobmail.Facts].
func (f *JobFacts) Leads(j *federation.Job) []string {
	if f.Coordinators == nil {
		return nil
	}
	return f.Coordinators(cmp.Or(j.Account, j.TreeAccount))
}

// Used implements [jobmail.Facts].
func (f *JobFacts) Used(ctx context.Context, j *federation.Job) (u jobmail.Used, err error) {
	if f.usage == nil {
		return u, nil
	}
	all, err := f.usage.UsageOf(ctx, []federation.JobID{j.ID})
	if err != nil || all[j.ID] == nil {
		return u, err
	}
	u.Known = true
	v := f.lister.View()
	pages, _, err := f.lister.Account(ctx, v, url.Values{"job_id": {j.ID.String()}}, identity.Caller{})
	if err != nil {
		return u, err
	}
	for list, err := range pages {
		if err != nil {
			return u, err
		}
		for i := range list {
			if list[i].Job.ID != j.ID {
				continue
			}
			one := v1.AccountingJob{DBJob: v.DBRecord(&list[i])}
			if err := f.lister.AddUsage(ctx, list[i:i+1], func(int) *wire.DBJob { return &one.DBJob }); err != nil {
				return u, err
			}
			e := one.Efficiency()
			u.CPU, u.CPUOf, u.Mem, u.MemOf = time.Duration(e.CPU)*time.Second, time.Duration(e.CPUOf)*time.Second, e.Mem, e.MemOf
		}
	}
	return u, nil
}

// Bounds of what is read of an output for its last lines: so much of its end, and so much before that where only its beginning is known.
const (
	tailBytes  = 32 << 10
	tailLine   = 500
	tailPieces = 256
)

// Output implements [jobmail.Facts].
func (f *JobFacts) Output(ctx context.Context, j *federation.Job, lines int) (out jobmail.Output) {
	if out.File = restd.OutputFile(j, nil, false); out.File == "/dev/null" {
		return jobmail.Output{}
	}
	attempts, err := f.logs.store.Attempts(ctx, j.ID)
	if err != nil || len(attempts) == 0 {
		return out
	}
	a := &attempts[len(attempts)-1]
	var text []byte
	if f.logs.reader != nil && !f.logs.sees(a.Site, j.Spec.WorkDir) {
		text, err = f.sent(ctx, j, a)
		out.File = "its output"
	} else if f.Tail != nil {
		text, err = f.Tail(ctx, j, out.File, tailBytes)
	}
	switch {
	case errors.Is(err, federation.ErrNotFound):
		return out
	case err != nil:
		out.Why = "the daemon cannot read it: " + err.Error()
		return out
	}
	out.Lines = lastLines(text, lines)
	return out
}

// sent is the end of what a job has sent of its output.
func (f *JobFacts) sent(ctx context.Context, j *federation.Job, a *federation.Attempt) (text []byte, err error) {
	at := int64(0)
	for range tailPieces {
		p, err := f.logs.reader.ReadLog(ctx, j, a, -1, false, at, logPart)
		if err != nil {
			return text, err
		}
		at += int64(len(p.Text))
		text = append(text, p.Text...)
		if n := len(text); n > tailBytes {
			text = slices.Clone(text[n-tailBytes:])
		}
		if !p.More {
			break
		}
	}
	return text, nil
}

// lastLines are the last lines of a text as a mail may have them: without what a terminal would obey, and each of them bounded.
func lastLines(text []byte, most int) []string {
	text = bytes.TrimRight(text, "\n")
	if len(text) == 0 {
		return nil
	}
	lines := strings.Split(string(text), "\n")
	lines = lines[max(len(lines)-most, 0):]
	for i, l := range lines {
		if at := strings.LastIndexByte(strings.TrimRight(l, "\r"), '\r'); at >= 0 { // a bar of progress
			l = l[at+1:]
		}
		l = strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' || r == 0x7f {
				return -1
			}
			return r
		}, strings.ToValidUTF8(l, "?"))
		if r := []rune(l); len(r) > tailLine {
			l = string(r[:tailLine]) + " ..."
		}
		lines[i] = l
	}
	return lines
}

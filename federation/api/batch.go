package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/queue"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/federation/share"
	"fsub/sbatch"
)

// Bounds of a batch, beside those of a user's jobs. What a batch takes in memory is a few times its text, and one is worked on at a time.
const (
	maxBatchJobs  = federation.MaxNamed
	maxBatchBytes = 64 << 20 // of the body
	// maxBatchPayload bounds the scripts, arguments and environments of its jobs, each counted as often as jobs have it: the store keeps one for each.
	maxBatchPayload = 1 << 30
	// batchWait is how long a batch waits for those of others.
	batchWait = 30 * time.Second
)

// batches submits batches, one at a time.
type batches struct {
	gate  *submission.Gate
	queue *queue.Queue
	turns *share.Turns
	calls calls
}

// submit is POST /fed/v1/jobs/submit.
func (s *batches) submit(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	if r.ContentLength > maxBatchBytes {
		return batchTooLong()
	}
	next := share.Idle(r.Context())
	ctx, cancel := context.WithTimeout(r.Context(), batchWait)
	turn, err := s.turns.Take(ctx, c.UID)
	cancel()
	next()
	if err != nil {
		return &federation.SlurmError{Kind: federation.ErrThrottled, Number: 11, Text: "Resource temporarily unavailable", Detail: "other batches are being submitted; try again in a moment"}
	}
	defer turn.Done()
	all, err := readBatch(http.MaxBytesReader(w, r.Body, maxBatchBytes), c, func(req *v1.SubmitRequest) error { return s.calls.read(r.Context(), c, req) })
	if err != nil {
		return err
	}
	mark := int64(queue.Lists{Queue: s.queue}.Recent(r.Context()))
	again, err := s.gate.AcceptAll(r.Context(), c, all, r.Header.Get(submission.HeaderKey))
	if err != nil {
		return err
	}
	if again {
		mark = 0
	}
	return s.tell(w, all, v1.BatchJob{Jobs: len(all), Mark: mark, Again: again})
}

// tell writes the answer to a batch that is stored.
func (s *batches) tell(w http.ResponseWriter, all []*submission.Entry, last v1.BatchJob) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := bufio.NewWriterSize(w, 64<<10)
	lines := json.NewEncoder(out)
	for _, e := range all {
		line := v1.BatchJob{Name: e.Name, JobID: e.Job.ID, Cluster: e.Answer, Warnings: e.Warnings}
		if !last.Again {
			line.Note = s.gate.Mail.Note(e.Job)
		}
		if lines.Encode(line) != nil {
			return nil // the caller has gone, and may ask again
		}
	}
	lines.Encode(last)
	out.Flush()
	return nil
}

func batchTooLong() error {
	return answer.BadBody(fmt.Sprintf("a batch has at most %d bytes: give scripts and environments once, and name them in payload_of; or submit several batches", maxBatchBytes))
}

// readBatch reads the entries of a batch.
func readBatch(body io.Reader, c identity.Caller, call func(*v1.SubmitRequest) error) (all []*submission.Entry, err error) {
	r := batchReader{in: bufio.NewReaderSize(body, 64<<10), caller: c, call: call, payloads: map[string]*sbatch.Payload{}}
	for {
		e, err := r.next()
		switch {
		case errors.Is(err, io.EOF) && len(all) == 0:
			return nil, answer.BadBody("the batch has no entry: want one JSON object in each line")
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		if all = append(all, e); len(all) > maxBatchJobs {
			return nil, answer.BadBody(fmt.Sprintf("a batch has at most %d jobs: submit several", maxBatchJobs))
		}
	}
}

// batchReader reads the lines of a batch.
type batchReader struct {
	in       *bufio.Reader
	caller   identity.Caller
	call     func(*v1.SubmitRequest) error // as calls.read
	line     int
	payloads map[string]*sbatch.Payload // as they were given, by the names of their entries
	bytes    int                        // of the payloads of all entries

	environment []string // of the latest call
}

// next reads the next entry; io.EOF: there is none.
func (r *batchReader) next() (*submission.Entry, error) {
	for {
		text, err := r.in.ReadBytes('\n')
		var long *http.MaxBytesError
		switch {
		case errors.As(err, &long):
			return nil, batchTooLong()
		case err != nil && !errors.Is(err, io.EOF):
			return nil, answer.BadBody(err.Error())
		}
		r.line++
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return r.entry(text)
		}
		if err != nil {
			return nil, io.EOF
		}
	}
}

func (r *batchReader) entry(text []byte) (*submission.Entry, error) {
	var in v1.BatchEntry
	if !utf8.Valid(text) {
		return nil, r.wrong("", "the line is not valid UTF-8")
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, r.wrong(in.Name, err.Error())
	}
	p := &in.Payload
	if of := in.PayloadOf; of != "" {
		from := r.payloads[of]
		if from == nil {
			return nil, r.wrong(in.Name, fmt.Sprintf("payload_of: no entry before this one has the name %.100q", of))
		}
		if p.Script == "" {
			p.Script = from.Script
		}
		if p.Argv == nil {
			p.Argv = from.Argv
		}
		if p.Environment == nil {
			p.Environment = from.Environment
		}
	}
	if in.Call != nil {
		r.bytes += 16 * len(p.Environment) // the list of its own that it may come to
	}
	if r.bytes += p.Size(); r.bytes > maxBatchPayload {
		return nil, r.wrong(in.Name, fmt.Sprintf("the scripts, arguments and environments of the jobs up to here have more than %d MiB: submit several batches, or read large data from files", maxBatchPayload>>20))
	}
	if in.Name != "" && r.payloads[in.Name] == nil {
		r.payloads[in.Name] = p
	}
	if in.Call != nil {
		req := v1.SubmitRequest{Payload: *p, SubmitHost: in.SubmitHost, Call: in.Call}
		if err := r.call(&req); err != nil {
			if !errors.Is(err, federation.ErrInvalid) {
				return nil, err
			}
			e := answer.OnWire(err)
			return nil, submission.RefuseLines([]v1.LineError{{Line: r.line, Name: in.Name, Number: e.Number, Text: e.Text, Detail: e.Detail}})
		}
		if req.TestOnly {
			return nil, r.wrong(in.Name, "call: --test-only: a batch submits its jobs; ask POST /fed/v1/job for one of them")
		}
		in.Spec, p = req.Spec, r.share(&req.Payload, p)
	}
	job := &federation.Job{User: r.caller.Name, UID: r.caller.UID, GID: r.caller.GID, Spec: &in.Spec, SubmitHost: in.SubmitHost}
	return &submission.Entry{Line: r.line, Name: in.Name, Job: job, Payload: p}, nil
}

// share has what a call came to share its script with what was given, and its environment with the call before: they are the same in most batches, and kept once.
func (r *batchReader) share(p, given *sbatch.Payload) *sbatch.Payload {
	if p.Script == given.Script {
		p.Script = given.Script
	}
	if slices.Equal(p.Environment, r.environment) {
		p.Environment = r.environment
	}
	r.environment = p.Environment
	return p
}

func (r *batchReader) wrong(name, detail string) error {
	e := answer.OnWire(answer.BadBody(detail))
	return submission.RefuseLines([]v1.LineError{{Line: r.line, Name: name, Number: e.Number, Text: e.Text, Detail: detail}})
}

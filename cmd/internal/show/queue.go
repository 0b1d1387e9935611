package show

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"

	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// Streamer is a [Caller] whose answers can be read piece by piece; *conn.Conn is one.
type Streamer interface {
	Caller
	Stream(path string) (status int, body io.ReadCloser, err error)
}

// Queue is the list of jobs that the daemon sends in squeue's order: read job by job, so that its
// length costs no memory.
type Queue struct {
	Head v1.QueueHead
	body io.ReadCloser
	in   *bufio.Reader
	row  []byte
	err  error
}

// maxRow bounds what one row is believed to be long.
const maxRow = 16 << 20

var errUnexpected = errors.New("Unexpected message received")

// OpenQueue asks for the jobs that a query selects (see GET /fed/v1/queue). A refusal is a
// *Failure. Close the Queue after use.
func OpenQueue(c Streamer, query string) (*Queue, error) {
	status, body, err := c.Stream("/fed/v1/queue" + query)
	if err != nil {
		return nil, &Failure{Text: err.Error()}
	}
	if status >= 400 {
		reply, err := io.ReadAll(body)
		body.Close()
		if err != nil {
			return nil, &Failure{Text: err.Error()}
		}
		return nil, refused(c, status, reply)
	}
	q := &Queue{body: body, in: bufio.NewReaderSize(body, 64<<10)}
	if !q.frame() || json.Unmarshal(q.row, &q.Head) != nil {
		body.Close()
		return nil, &Failure{Text: errUnexpected.Error()}
	}
	return q, nil
}

// Next reads the next job into j. It returns false at the end, or with Err set on a failure.
func (q *Queue) Next(j *wire.Job) bool {
	if !q.frame() {
		return false
	}
	if v1.ReadRow(q.row, j) != nil {
		q.err = errUnexpected
	}
	return q.err == nil
}

// Foretold is what the job that Next has read says of its expected start, where the query asked for that.
func (q *Queue) Foretold() v1.Foretold { return v1.ReadForetold(q.row) }

// frame reads the next part into row.
func (q *Queue) frame() bool {
	size, err := binary.ReadUvarint(q.in)
	switch {
	case err == io.EOF:
		return false
	case err == nil && size > maxRow:
		err = errUnexpected
	case err == nil:
		if int(size) > cap(q.row) {
			q.row = make([]byte, 2*size)
		}
		q.row = q.row[:size]
		_, err = io.ReadFull(q.in, q.row)
	}
	q.err = err
	return err == nil
}

// Err is why the list is not whole, nil if it is.
func (q *Queue) Err() error {
	if q.err == nil {
		return nil
	}
	if q.err == io.ErrUnexpectedEOF {
		return &Failure{Text: errUnexpected.Error()}
	}
	return &Failure{Text: q.err.Error()}
}

// Close ends the list, also before all of it was read.
func (q *Queue) Close() { q.body.Close() }

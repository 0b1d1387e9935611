package v1

import (
	"encoding/binary"
	"errors"
	"strings"

	"fsub/slurm/wire"
)

// GET /fed/v1/queue answers with a stream that is read and printed job by job, so that a listing of a hundred thousand jobs needs no
// more memory than one of ten. Each part of it has its length before it, as a uvarint: first a [QueueHead] in JSON, then a row for
// each job, in the order in which squeue lists them. A row is a wire.Job without what is not set: for each field that is, a uvarint
// tag (the field's number in rowFields << 2 | how the value is written) and the value.
//
// BenchmarkReadRow says what that buys over a line of JSON for each wire.Job: 1 µs instead of 131 µs for the reader, so 0.1 s instead of 13 s
// for 100,000 jobs that wait.

// QueueHead comes before the rows.
type QueueHead struct {
	Cluster      string   `json:"cluster"`                 // the name of the federation
	InvalidUsers []string `json:"invalid_users,omitempty"` // users of the query that this machine does not have
	InvalidNodes []string `json:"invalid_nodes,omitempty"` // nodes of the query that no site has
}

// How values are written.
const (
	rowNumber   = iota // a varint
	rowText            // its length as a uvarint, and the bytes; of a list one line for each element
	rowInfinite        // nothing
	rowTrue            // nothing
)

var errRow = errors.New("the row is broken")

// AppendRow writes j: what like jobs have in common after shared, the rest after own. The two make a row in any order. What
// squeue does not show is not written: see rowFields.
func AppendRow(shared, own []byte, j *wire.Job) (sharedToo, ownToo []byte) {
	for i := range rowFields {
		f, tag := &rowFields[i], uint64(i)<<2
		if f.own {
			own = f.appendTo(own, tag, j)
		} else {
			shared = f.appendTo(shared, tag, j)
		}
	}
	return shared, own
}

func (f *rowField) appendTo(b []byte, tag uint64, j *wire.Job) []byte {
	switch {
	case f.text != nil:
		return appendText(b, tag, *f.text(j))
	case f.list != nil:
		return appendText(b, tag, strings.Join(*f.list(j), "\n"))
	case f.number != nil:
		switch n := f.number(j); {
		case n.Infinite:
			return binary.AppendUvarint(b, tag|rowInfinite)
		case n.Set:
			return appendNumber(b, tag, n.Number)
		}
	case f.int != nil:
		if n := *f.int(j); n != 0 {
			return appendNumber(b, tag, n)
		}
	case f.id != nil:
		if n := *f.id(j); n != 0 {
			return appendNumber(b, tag, int64(n))
		}
	case f.flag != nil:
		if *f.flag(j) {
			return binary.AppendUvarint(b, tag|rowTrue)
		}
	case f.exit != nil:
		if e := f.exit(j); e.ReturnCode.Value() != 0 || e.Signal.ID.Value() != 0 {
			return appendNumber(b, tag, e.ReturnCode.Value()<<8|e.Signal.ID.Value())
		}
	}
	return b
}

func appendText(b []byte, tag uint64, s string) []byte {
	if s == "" {
		return b
	}
	b = binary.AppendUvarint(b, tag|rowText)
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendNumber(b []byte, tag uint64, n int64) []byte {
	return binary.AppendVarint(binary.AppendUvarint(b, tag+rowNumber), n)
}

// ReadRow sets all of j from what AppendRow wrote. Fields that it does not know are those of a newer daemon, and left out. The texts of
// j share one copy of row.
func ReadRow(row []byte, j *wire.Job) error {
	*j = wire.Job{}
	all := string(row)
	for len(row) > 0 {
		tag, n := binary.Uvarint(row)
		if n <= 0 {
			return errRow
		}
		row = row[n:]
		var f rowField
		if i := tag >> 2; i < uint64(len(rowFields)) {
			f = rowFields[i]
		}
		switch tag & 3 {
		case rowNumber:
			v, n := binary.Varint(row)
			if n <= 0 {
				return errRow
			}
			row = row[n:]
			f.setNumber(j, v)
		case rowText:
			size, n := binary.Uvarint(row)
			if n <= 0 || size > uint64(len(row)-n) {
				return errRow
			}
			from := len(all) - len(row) + n
			f.setText(j, all[from:from+int(size)])
			row = row[n+int(size):]
		case rowInfinite:
			if f.number != nil {
				*f.number(j) = wire.Inf()
			}
		case rowTrue:
			if f.flag != nil {
				*f.flag(j) = true
			}
		}
	}
	return nil
}

func (f *rowField) setNumber(j *wire.Job, v int64) {
	switch {
	case f.number != nil:
		*f.number(j) = wire.Num(v)
	case f.int != nil:
		*f.int(j) = v
	case f.id != nil:
		*f.id(j) = wire.Int(v)
	case f.exit != nil:
		e := f.exit(j)
		e.ReturnCode, e.Signal.ID = wire.Num(v>>8), wire.Num(v&0xff)
	}
}

func (f *rowField) setText(j *wire.Job, s string) {
	switch {
	case f.text != nil:
		*f.text(j) = s
	case f.list != nil:
		list := f.list(j)
		if strings.IndexByte(s, '\n') < 0 {
			*list = wire.Strings{s}
		} else {
			*list = strings.Split(s, "\n")
		}
	}
}

package bill

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
)

type csvTable struct {
	rows *csv.Reader
	head []string
}

// CSV is the table of a CSV file, which may be compressed by gzip.
func CSV(r io.Reader) (Table, error) {
	in := bufio.NewReader(r)
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		plain, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReader(plain)
	}
	rows := csv.NewReader(in)
	rows.LazyQuotes = true
	head, err := rows.Read()
	if err == io.EOF {
		return nil, errors.New("the file is empty")
	}
	rows.ReuseRecord = true
	return &csvTable{rows, append([]string(nil), head...)}, err
}

func (t *csvTable) Columns() []string       { return t.head }
func (t *csvTable) Next() ([]string, error) { return t.rows.Read() }

package v1

import (
	"encoding/binary"

	"fsub/federation"
)

// Foretold is what a row says beyond a wire.Job: where a job that waits is expected to start, and what is known of that; and what a job that runs has come to. It is
// there where that was asked for and is known. The zero value is that of a row without it.
type Foretold struct {
	Site   string           // the site; "": no start is expected
	Within int64            // p90 of the start, in seconds since 1970; 0: not known
	Price  federation.Money // what the job is expected to pay for. Of an array it is the first task that waits
	Runs   bool             // the job runs, and it is known what it has come to:
	Spent  federation.Money
}

// The numbers of its fields stand far behind those of rowFields, which grow. They never change.
const (
	foretoldSite = 1024 + iota
	foretoldWithin
	_ // the price in cents
	foretoldPrice
	foretoldSpent
)

// AppendForetold writes f after a row.
func AppendForetold(row []byte, f *Foretold) []byte {
	if f.Site != "" {
		row = appendText(row, foretoldSite<<2, f.Site)
	}
	if f.Within != 0 {
		row = appendNumber(row, foretoldWithin<<2, f.Within)
	}
	if f.Price != 0 {
		row = appendNumber(row, foretoldPrice<<2, int64(f.Price))
	}
	if f.Runs {
		row = appendNumber(row, foretoldSpent<<2, int64(f.Spent))
	}
	return row
}

// ReadForetold returns what AppendForetold wrote after a row that ReadRow can read.
func ReadForetold(row []byte) (f Foretold) {
	for len(row) > 0 {
		tag, n := binary.Uvarint(row)
		if n <= 0 {
			return Foretold{}
		}
		row = row[n:]
		switch tag & 3 {
		case rowNumber:
			v, n := binary.Varint(row)
			if n <= 0 {
				return Foretold{}
			}
			switch row = row[n:]; tag >> 2 {
			case foretoldWithin:
				f.Within = v
			case foretoldPrice:
				f.Price = federation.Money(v)
			case foretoldSpent:
				f.Runs, f.Spent = true, federation.Money(v)
			}
		case rowText:
			size, n := binary.Uvarint(row)
			if n <= 0 || size > uint64(len(row)-n) {
				return Foretold{}
			}
			if tag>>2 == foretoldSite {
				f.Site = string(row[n : n+int(size)])
			}
			row = row[n+int(size):]
		}
	}
	return f
}

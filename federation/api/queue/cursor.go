package queue

import (
	"encoding/base64"
	"encoding/binary"
	"errors"

	"fsub/federation"
)

// cursor is a place as a client has it: the name of the order, the key and the ID.
func (p *place) cursor(by *listOrder) string {
	b := append(append([]byte{}, by.name...), 0)
	b = binary.AppendVarint(b, p.key.number)
	b = binary.AppendUvarint(b, uint64(p.id))
	return base64.RawURLEncoding.EncodeToString(append(b, p.key.text...))
}

// maxCursor bounds a cursor: its longest part is the name of a user, an account or a site.
const maxCursor = 1 << 10

var errCursor = errors.New("invalid cursor: want one that a page of the same list and the same sort has given; begin again without one")

// readCursor reads a cursor of an order; "" is none.
func readCursor(by *listOrder, text string) (*place, error) {
	if text == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(text) > maxCursor || len(b) <= len(by.name) || string(b[:len(by.name)+1]) != by.name+"\x00" {
		return nil, errCursor
	}
	b = b[len(by.name)+1:]
	number, n := binary.Varint(b)
	if n <= 0 {
		return nil, errCursor
	}
	id, m := binary.Uvarint(b[n:])
	if m <= 0 || id > 1<<32-1 {
		return nil, errCursor
	}
	return &place{sortKey{number, string(b[n+m:])}, federation.JobID(id)}, nil
}

// IDCursor is the cursor of a job in the order of ID.
func IDCursor(id federation.JobID) string {
	p := place{id: id}
	return p.cursor(byID)
}

// ReadIDCursor reads a cursor of the order of ID; "" is 0.
func ReadIDCursor(text string) (federation.JobID, error) {
	p, err := readCursor(byID, text)
	if p == nil {
		return 0, err
	}
	return p.id, nil
}

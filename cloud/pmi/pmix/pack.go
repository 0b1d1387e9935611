package pmix

import (
	"encoding/binary"
	"strings"
)

// Types of values.
const (
	typeBool       = 1
	typeString     = 3
	typeUint16     = 13
	typeUint32     = 14
	typeUint64     = 15
	typeByteObject = 27
	typeRank       = 40
)

// one stands before everything that is packed by itself: how many values follow.
func one(b []byte) []byte { return binary.BigEndian.AppendUint32(b, 1) }

// appendString: with its NUL; an empty one is packed as if it were none.
func appendString(b []byte, s string) []byte {
	if s == "" {
		return binary.BigEndian.AppendUint32(b, 0)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)+1))
	return append(append(b, s...), 0)
}

// appendBytes is a byte object: a size, which says of what type it is, and bytes.
func appendBytes(b, data []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, typeUint64)
	b = binary.BigEndian.AppendUint64(b, uint64(len(data)))
	return append(b, data...)
}

// rank is a number of a process.
type rank uint32

// Ranks that are none.
const (
	everybody rank = 1<<32 - 2
	nobody    rank = 1<<32 - 1
)

// appendPair is a key and its value: a bool, string, uint16, uint32, rank or []byte.
func appendPair(b []byte, key string, value any) []byte {
	b = appendString(one(b), key)
	switch v := value.(type) {
	case bool:
		b = binary.BigEndian.AppendUint16(b, typeBool)
		if v {
			return append(b, 1)
		}
		return append(b, 0)
	case string:
		return appendString(binary.BigEndian.AppendUint16(b, typeString), v)
	case uint16:
		return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, typeUint16), v)
	case uint32:
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, typeUint32), v)
	case rank:
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, typeRank), uint32(v))
	case []byte:
		return appendBytes(binary.BigEndian.AppendUint16(b, typeByteObject), v)
	}
	panic("pmix: a value of no type that is packed")
}

// appendProc is a process.
func appendProc(b []byte, space string, r rank) []byte {
	return binary.BigEndian.AppendUint32(appendString(one(b), space), uint32(r))
}

// appendStatus is how a request went.
func appendStatus(b []byte, s status) []byte { return binary.BigEndian.AppendUint32(one(b), uint32(s)) }

// status of a request.
type status int32

const (
	success       status = 0
	timedOut      status = -24
	badParam      status = -27
	outOfResource status = -29
	notFound      status = -46
	notSupported  status = -47
	conflicting   status = -51 // something is both to be removed and to stay
)

// unpacker reads what a client has packed. After the first thing that is not there it returns zero
// values, and bad is set.
type unpacker struct {
	b   []byte
	bad bool
}

// take returns the next n bytes.
func (u *unpacker) take(n uint64) []byte {
	if u.bad || n > uint64(len(u.b)) {
		u.bad = true
		return nil
	}
	t := u.b[:n:n]
	u.b = u.b[n:]
	return t
}

func (u *unpacker) byte() byte {
	if t := u.take(1); t != nil {
		return t[0]
	}
	return 0
}

func (u *unpacker) uint16() uint16 {
	if t := u.take(2); t != nil {
		return binary.BigEndian.Uint16(t)
	}
	return 0
}

func (u *unpacker) uint32() uint32 {
	if t := u.take(4); t != nil {
		return binary.BigEndian.Uint32(t)
	}
	return 0
}

// count reads how many values follow.
func (u *unpacker) count() uint32 { return u.uint32() }

// size says of what type it is.
func (u *unpacker) size() uint64 {
	switch u.uint16() {
	case typeUint32:
		return uint64(u.uint32())
	case typeUint64:
		if t := u.take(8); t != nil {
			return binary.BigEndian.Uint64(t)
		}
		return 0
	}
	u.bad = true
	return 0
}

func (u *unpacker) string() string {
	return strings.TrimSuffix(string(u.take(uint64(u.uint32()))), "\x00")
}

// cstring reads up to a NUL: the format before the two sides have agreed on packing.
func (u *unpacker) cstring() string {
	for i, c := range u.b {
		if c == 0 {
			return strings.TrimSuffix(string(u.take(uint64(i+1))), "\x00")
		}
	}
	u.bad = true
	return ""
}

package pmix

import (
	"encoding/binary"
	"strconv"
)

// info is a directive of a request.
type info struct {
	key   string
	value any // bool, string, int64 of a number of any size, proc, []proc; nil of all others
}

// proc is a process, of whichever step.
type proc struct {
	space string
	rank  rank
}

// deepest is how far values may lie within others: arrays of directives.
const deepest = 8

// infos reads directives: how many, and then those, which are not there at all if there are none.
func (u *unpacker) infos() []info {
	u.count()
	n := u.size()
	if n == 0 || u.bad {
		return nil
	}
	u.count()
	return u.someInfos(n, 0)
}

func (u *unpacker) someInfos(n uint64, depth int) (list []info) {
	for range n {
		if u.bad {
			return nil
		}
		i := info{key: u.string()}
		u.uint32() // whether it must be followed
		i.value = u.value(u.uint16(), depth)
		list = append(list, i)
	}
	return list
}

// procs reads processes, as infos does directives.
func (u *unpacker) procs() []proc {
	u.count()
	n := u.size()
	if n == 0 || u.bad {
		return nil
	}
	u.count()
	return u.someProcs(n)
}

func (u *unpacker) someProcs(n uint64) (list []proc) {
	for range n {
		p := proc{u.string(), rank(u.uint32())}
		if u.bad {
			return nil
		}
		list = append(list, p)
	}
	return list
}

// fixed is how many bytes values of a type take, where that is known of the type.
var fixed = map[uint16]uint64{typeBool: 1, 2: 1, 7: 1, 8: 2, 9: 4, 10: 8, 12: 1, typeUint16: 2, typeUint32: 4, typeUint64: 8, 18: 16, 19: 8, typeStatus: 4, 30: 1, 31: 1,
	32: 1, 33: 1, 34: 1, 35: 4, 36: 2, 37: 1, typeRank: 4, 43: 1, 45: 2}

// Types of values that are read only.
const (
	typeUndefined = 0
	typeSize      = 4
	typePID       = 5
	typeInt       = 6
	typeUint      = 11
	typeFloat     = 16
	typeDouble    = 17
	typeStatus    = 20
	typeProc      = 22
	typeInfo      = 24
	typeArray     = 39
	typeZipped    = 42
	typeVariable  = 46
)

// value reads a value. One of a type that is not known makes all that follows unreadable: bad is set.
func (u *unpacker) value(typ uint16, depth int) any {
	switch typ {
	case typeUndefined:
		return nil
	case typeBool:
		return u.byte() != 0
	case typeString:
		return u.string()
	case typeSize, typePID, typeInt, typeUint: // of a size that differs between machines: another type says which
		return u.value(u.sized(), depth)
	case typeFloat, typeDouble:
		f, _ := strconv.ParseFloat(u.string(), 64)
		return int64(f)
	case typeProc:
		return proc{u.string(), rank(u.uint32())}
	case typeByteObject, typeZipped:
		u.take(u.size())
		return nil
	case typeVariable:
		u.string()
		u.string()
		u.byte()
		return nil
	case typeArray:
		return u.array(depth + 1)
	}
	size, ok := fixed[typ]
	if !ok {
		u.bad = true
		return nil
	}
	return number(u.take(size))
}

// sized reads a type that has a fixed size.
func (u *unpacker) sized() uint16 {
	typ := u.uint16()
	if fixed[typ] == 0 {
		u.bad = true
	}
	return typ
}

func (u *unpacker) array(depth int) any {
	typ := u.uint16()
	n := u.size()
	switch {
	case depth > deepest:
		u.bad = true
		return nil
	case n == 0 || u.bad:
		return nil
	case typ == typeProc:
		return u.someProcs(n)
	case typ == typeInfo:
		u.someInfos(n, depth)
		return nil
	case typ == typeSize, typ == typePID, typ == typeInt, typ == typeUint: // the size was given already
		typ = u.sized()
	case typ == typeUndefined:
		return nil
	}
	for range n {
		if u.value(typ, depth); u.bad {
			return nil
		}
	}
	return nil
}

// number is that of some bytes, with its sign where they are four or more.
func number(b []byte) any {
	switch len(b) {
	case 1:
		return int64(b[0])
	case 2:
		return int64(binary.BigEndian.Uint16(b))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(b)))
	case 8:
		return int64(binary.BigEndian.Uint64(b))
	}
	return nil
}

// truth is what a directive without a value says too.
func (i info) truth() bool { return i.value == nil || i.value == true }

// seconds is the time that directives give to a request; 0: none.
func seconds(list []info) int64 {
	for _, i := range list {
		if n, ok := i.value.(int64); ok && i.key == "pmix.timeout" && n > 0 {
			return n
		}
	}
	return 0
}

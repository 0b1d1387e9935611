package v1

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"fsub/slurm/wire"
)

// rowTable is the fields of a struct that stand in a row, by their numbers: a field with the number 17 has the tag `row:"17"`, or `row:"17,own"` where nearly every
// job has another value. Numbers never change; a new field has the next one.
type rowTable struct {
	first  int // number
	fields []rowField
}

// rowField is a field of the struct: where it is, and what it is.
type rowField struct {
	name string
	at   uintptr
	kind rowKind
	own  bool
}

// rowKind is the type of a field. The zero value is that of a number that no field has any more.
type rowKind uint8

const (
	unused rowKind = iota
	isText
	isList
	isNumber
	isInt
	isFlag
	isExit
)

// rowTableOf reads the tags of a struct whose numbers begin at first.
func rowTableOf(of reflect.Type, first int) *rowTable {
	t := &rowTable{first: first}
	t.add(of, 0)
	return t
}

// add adds the fields of a struct that is at an offset, and those of the structs that it embeds.
func (t *rowTable) add(of reflect.Type, at uintptr) {
	for sf := range of.Fields() {
		if sf.Anonymous {
			t.add(sf.Type, at+sf.Offset)
		}
		number, rest, _ := strings.Cut(sf.Tag.Get("row"), ",")
		if number == "" {
			continue
		}
		n, err := strconv.Atoi(number)
		if n -= t.first; err != nil || n < 0 {
			panic(fmt.Sprintf("%s.%s has no number of a row: %q", of.Name(), sf.Name, number))
		}
		if more := n + 1 - len(t.fields); more > 0 {
			t.fields = append(t.fields, make([]rowField, more)...)
		}
		t.fields[n] = rowField{name: sf.Name, at: at + sf.Offset, kind: rowKindOf(sf.Type), own: rest == "own"}
	}
}

func rowKindOf(of reflect.Type) rowKind {
	switch of {
	case reflect.TypeFor[wire.Number]():
		return isNumber
	case reflect.TypeFor[wire.ExitCode]():
		return isExit
	case reflect.TypeFor[wire.Strings]():
		return isList
	}
	switch of.Kind() {
	case reflect.String:
		return isText
	case reflect.Int64:
		return isInt
	case reflect.Bool:
		return isFlag
	}
	panic("a row has no way to write a " + of.String())
}

// tag is what goes before the value of the i-th field, for a value that is written as a number.
func (t *rowTable) tag(i int) uint64 { return uint64(t.first+i) << 2 }

// tagOf is the tag of a field by its name.
func (t *rowTable) tagOf(name string) uint64 {
	for i := range t.fields {
		if t.fields[i].name == name {
			return t.tag(i)
		}
	}
	panic("no row has " + name)
}

// field is the field of a row's struct, of a type that its kind says.
func field[T any](f *rowField, in unsafe.Pointer) *T { return (*T)(unsafe.Add(in, f.at)) }

// append writes all fields of a struct.
func (t *rowTable) append(b []byte, in unsafe.Pointer) []byte {
	for i := range t.fields {
		b = t.fields[i].appendTo(b, t.tag(i), in)
	}
	return b
}

func (f *rowField) appendTo(b []byte, tag uint64, in unsafe.Pointer) []byte {
	switch f.kind {
	case isText:
		return appendText(b, tag, *field[string](f, in))
	case isList:
		return appendText(b, tag, strings.Join(*field[wire.Strings](f, in), "\n"))
	case isNumber:
		switch n := field[wire.Number](f, in); {
		case n.Infinite:
			return binary.AppendUvarint(b, tag|rowInfinite)
		case n.Set:
			return appendNumber(b, tag, n.Number)
		}
	case isInt:
		if n := *field[int64](f, in); n != 0 {
			return appendNumber(b, tag, n)
		}
	case isFlag:
		if *field[bool](f, in) {
			return binary.AppendUvarint(b, tag|rowTrue)
		}
	case isExit:
		if e := field[wire.ExitCode](f, in); e.ReturnCode.Value() != 0 || e.Signal.ID.Value() != 0 {
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

// read sets the fields of a struct from a row. Numbers of other structs are left out.
func (t *rowTable) read(row []byte, in unsafe.Pointer) error {
	all := string(row)
	var none rowField
	for len(row) > 0 {
		tag, n := binary.Uvarint(row)
		if n <= 0 {
			return errRow
		}
		row = row[n:]
		f := &none
		if i := tag>>2 - uint64(t.first); i < uint64(len(t.fields)) {
			f = &t.fields[i]
		}
		switch tag & 3 {
		case rowNumber:
			v, n := binary.Varint(row)
			if n <= 0 {
				return errRow
			}
			row = row[n:]
			f.setNumber(in, v)
		case rowText:
			size, n := binary.Uvarint(row)
			if n <= 0 || size > uint64(len(row)-n) {
				return errRow
			}
			from := len(all) - len(row) + n
			f.setText(in, all[from:from+int(size)])
			row = row[n+int(size):]
		case rowInfinite:
			if f.kind == isNumber {
				*field[wire.Number](f, in) = wire.Inf()
			}
		case rowTrue:
			if f.kind == isFlag {
				*field[bool](f, in) = true
			}
		}
	}
	return nil
}

func (f *rowField) setNumber(in unsafe.Pointer, v int64) {
	switch f.kind {
	case isNumber:
		*field[wire.Number](f, in) = wire.Num(v)
	case isInt:
		*field[int64](f, in) = v
	case isExit:
		e := field[wire.ExitCode](f, in)
		e.ReturnCode, e.Signal.ID = wire.Num(v>>8), wire.Num(v&0xff)
	}
}

func (f *rowField) setText(in unsafe.Pointer, s string) {
	switch f.kind {
	case isText:
		*field[string](f, in) = s
	case isList:
		list := field[wire.Strings](f, in)
		if strings.IndexByte(s, '\n') < 0 {
			*list = wire.Strings{s}
		} else {
			*list = strings.Split(s, "\n")
		}
	}
}

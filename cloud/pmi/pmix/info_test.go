package pmix

import (
	"encoding/binary"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestInfos: directives are read as they were packed, also behind those whose values are of no interest.
func TestInfos(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) info {
			value := rapid.OneOf(rapid.Bool().AsAny(), rapid.StringMatching(`[ -~]*`).AsAny(), rapid.IntRange(-5, 1<<30).AsAny(), rapid.Just[any](nil)).Draw(rt, "value")
			return info{rapid.StringMatching(`[a-z.]{1,20}`).Draw(rt, "key"), value}
		}), 0, 5).Draw(rt, "infos")
		u := &unpacker{b: append(appendInfos(nil, want...), "rest"...)}
		got := u.infos()
		for i := range want {
			if n, ok := want[i].value.(int); ok {
				want[i].value = int64(n)
			}
		}
		if u.bad || !slices.EqualFunc(got, want, func(a, b info) bool { return reflect.DeepEqual(a, b) }) || string(u.b) != "rest" {
			rt.Fatalf("%v became %v, and %q is left", want, got, u.b)
		}
	})
}

// TestValues: what libpmix 4.2 packs of each kind, by its own words (PMIX_BFROPS_PACK of a pmix_value_t).
func TestValues(t *testing.T) {
	u16 := func(n ...uint16) (b []byte) {
		for _, v := range n {
			b = binary.BigEndian.AppendUint16(b, v)
		}
		return b
	}
	name := string(appendString(nil, "ns"))
	for _, c := range []struct {
		name string
		typ  uint16
		b    string
		want any
	}{
		{"a size", typeSize, string(u16(typeUint64)) + "\x00\x00\x00\x00\x00\x00\x00\x05", int64(5)},
		{"an int", typeInt, string(u16(9)) + "\xff\xff\xff\xff", int64(-1)},
		{"a status", typeStatus, "\xff\xff\xff\xd2", int64(-46)},
		{"a process", typeProc, name + "\x00\x00\x00\x07", proc{"ns", 7}},
		{"processes", typeArray, string(u16(typeProc, typeUint64)) + "\x00\x00\x00\x00\x00\x00\x00\x02" + name + "\x00\x00\x00\x01" + name + "\x00\x00\x00\x02", []proc{{"ns", 1}, {"ns", 2}}},
		{"directives", typeArray, string(u16(typeInfo, typeUint64)) + "\x00\x00\x00\x00\x00\x00\x00\x01" + name + "\x00\x00\x00\x00" + string(u16(typeBool)) + "\x01", nil},
		{"sizes", typeArray, string(u16(typeSize, typeUint64)) + "\x00\x00\x00\x00\x00\x00\x00\x02" + string(u16(typeUint64)) + "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02", nil},
		{"nothing", typeArray, string(u16(typeUndefined, typeUint64)) + "\x00\x00\x00\x00\x00\x00\x00\x00", nil},
		{"bytes", typeByteObject, string(appendBytes(nil, []byte("abc"))), nil},
		{"a variable", typeVariable, name + name + ":", nil},
		{"a number with a point", typeDouble, string(appendString(nil, "2.500000")), int64(2)},
	} {
		u := &unpacker{b: []byte(c.b + "rest")}
		if got := u.value(c.typ, 0); u.bad || !reflect.DeepEqual(got, c.want) || string(u.b) != "rest" {
			t.Errorf("%s: %v, want %v; %q is left, bad %v", c.name, got, c.want, u.b, u.bad)
		}
	}
	deep := ""
	for range deepest + 2 {
		deep += string(u16(typeArray, typeUint64)) + "\x00\x00\x00\x00\x00\x00\x00\x01"
	}
	u := &unpacker{b: []byte(deep)}
	if u.value(typeArray, 0); !u.bad {
		t.Error("arrays in arrays have no end")
	}
	u = &unpacker{b: []byte("abc")}
	if u.value(999, 0); !u.bad {
		t.Error("a type that nobody knows is read")
	}
}

// FuzzInfos: whatever comes, it is read to an end.
func FuzzInfos(f *testing.F) {
	f.Add(appendInfos(nil, immediate, info{"pmix.timeout", 5}, info{"pmix.reg.cleanup", "/tmp/x"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		u := &unpacker{b: b}
		if list := u.infos(); len(list) > len(b) {
			t.Errorf("%d directives in %d bytes", len(list), len(b))
		}
	})
}

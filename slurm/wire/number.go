package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Number is slurmrestd's integer that may be unset or infinite. The zero value is unset. It reads a plain number, a
// numeric string, "INFINITE"/"UNLIMITED" and null as well; it writes {"set","infinite","number"}.
//
// slurmrestd writes an infinite value with "set": false, and reads {"number": 5} without "set": true as unset: make
// values with [Num] and [Inf].
type Number struct {
	Set      bool  `json:"set"`
	Infinite bool  `json:"infinite"`
	Number   int64 `json:"number"`
}

// Num is the Number of n.
func Num(n int64) Number { return Number{Set: true, Number: n} }

// Inf is the infinite Number as slurmrestd writes it.
func Inf() Number { return Number{Infinite: true} }

// Time is the Number of a time as slurmrestd writes it: the zero time is 0, and set.
func Time(t time.Time) Number {
	if t.IsZero() {
		return Num(0)
	}
	return Num(t.Unix())
}

// Or gives the number, or def where it is unset or infinite.
func (n Number) Or(def int64) int64 {
	if !n.Set || n.Infinite {
		return def
	}
	return n.Number
}

// Value gives the number, 0 where it is unset or infinite.
func (n Number) Value() int64 { return n.Or(0) }

func (n *Number) UnmarshalJSON(b []byte) error {
	*n = Number{}
	switch {
	case len(b) == 0 || string(b) == "null":
		return nil
	case b[0] == '{':
		var o struct {
			Set      bool        `json:"set"`
			Infinite bool        `json:"infinite"`
			Number   json.Number `json:"number"`
		}
		if err := json.Unmarshal(b, &o); err != nil {
			return err
		}
		n.Set, n.Infinite = o.Set, o.Infinite
		if o.Number == "" {
			return nil
		}
		v, err := integer(string(o.Number))
		n.Number = v
		return err
	case b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		return n.text(s)
	}
	v, err := integer(string(b))
	if err == nil {
		*n = Num(v)
	}
	return err
}

// text reads the forms that a string may have.
func (n *Number) text(s string) error {
	switch strings.ToUpper(s) {
	case "":
		return nil
	case "INFINITE", "INFINITY", "UNLIMITED":
		*n = Inf()
		return nil
	}
	v, err := integer(s)
	if err == nil {
		*n = Num(v)
	}
	return err
}

// integer reads an integer in any of JSON's notations; what is too large for int64 becomes the largest int64.
func integer(s string) (int64, error) {
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return v, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	if f >= math.MaxInt64 {
		return math.MaxInt64, nil
	}
	if f <= math.MinInt64 {
		return math.MinInt64, nil
	}
	return int64(f), nil
}

// Float is [Number] for the few values with a fraction.
type Float struct {
	Set      bool    `json:"set"`
	Infinite bool    `json:"infinite"`
	Number   float64 `json:"number"`
}

func (f *Float) UnmarshalJSON(b []byte) error {
	*f = Float{}
	if string(b) == "null" {
		return nil
	}
	if len(b) > 0 && b[0] == '{' {
		type plain Float
		return json.Unmarshal(b, (*plain)(f))
	}
	v, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64)
	if err != nil {
		return fmt.Errorf("%s is not a number", b)
	}
	*f = Float{Set: true, Number: v}
	return nil
}

// Int is a plain integer that some version writes as a string, as a Number, as null or as a list (then it is 0).
type Int int64

func (i *Int) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		*i = 0
		return nil
	}
	var n Number
	if err := n.UnmarshalJSON(b); err != nil {
		return err
	}
	*i = Int(n.Value())
	return nil
}

package sbatch

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// number reads a leading decimal number as strtol does: blanks and a sign may precede it. rest is
// what follows; without a number it is s itself.
func number(s string) (n int64, rest string, ok bool) {
	t := strings.TrimLeft(s, " \t\n\v\f\r")
	i := 0
	if i < len(t) && (t[i] == '-' || t[i] == '+') {
		i++
	}
	first := i
	for i < len(t) && t[i] >= '0' && t[i] <= '9' {
		i++
	}
	if i == first {
		return 0, s, false
	}
	n, err := strconv.ParseInt(t[:i], 10, 64)
	if err != nil { // out of range: ParseInt gives the nearest number, as strtol does
		return n, t[i:], true
	}
	return n, t[i:], true
}

// count reads the value of a counting option: a whole number of at least least.
func (r Release) count(name, value string, least int64) (int, error) {
	n, rest, ok := number(value)
	switch {
	case !ok && value != "" || rest != "" || n < least: // nothing counts as 0
		return 0, errorLine(exitFatal, `Invalid numeric value "`, value, `" for `, name, ".")
	case n > math.MaxInt32 && r < Slurm2411:
		return int(int32(n)), nil // 22.05 lets numbers wrap
	case n > math.MaxInt32:
		return 0, errorLine(exitFatal, "Numeric argument (", strings.TrimLeft(value, " +"), ") too large for ", name, ".")
	}
	return int(n), nil
}

// size reads an amount of memory or disk: a number with K, M (the default), G or T, and perhaps a
// B. K is rounded up.
func size(s string) (MemMiB, bool) {
	n, unit, ok := number(s)
	if !ok || n < 0 {
		return 0, false
	}
	if unit == "" {
		return MemMiB(n), true
	}
	if len(unit) > 2 || len(unit) == 2 && unit[1]|0x20 != 'b' {
		return 0, false
	}
	switch unit[0] | 0x20 {
	case 'k':
		return MemMiB((n + 1023) / 1024), true
	case 'm':
		return MemMiB(n), true
	case 'g':
		return scaled(n, 1<<10), true
	case 't':
		return scaled(n, 1<<20), true
	}
	return 0, false
}

// scaled returns n times unit, or the largest representable value: such a job fits nowhere either way.
func scaled(n, unit int64) MemMiB {
	if n > math.MaxInt64/unit {
		return math.MaxInt64
	}
	return MemMiB(n * unit)
}

// timeLimit reads a length of time: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S in whole minutes, rounded
// up. Zero and the words are Unlimited.
//
// minutes are 32 bits in Slurm: a negative limit comes out as thousands of years there, and is
// Unlimited here, since a Duration ends at 292 years.
func timeLimit(s string) (d time.Duration, minutes uint32, ok bool) {
	secs, ok := seconds(s)
	if !ok {
		return 0, 0, false
	}
	minutes = uint32((secs + 59) / 60)
	if secs == unlimitedSeconds || minutes == 0 {
		return Unlimited, math.MaxUint32, true
	}
	if int64(minutes) > int64(math.MaxInt64/time.Minute) {
		return Unlimited, minutes, true
	}
	return time.Duration(minutes) * time.Minute, minutes, true
}

const unlimitedSeconds = math.MinInt64

// seconds reads a length of time without rounding it; unlimitedSeconds for the words that say so.
// Numbers wrap at 32 bits, as they do in sbatch: --time=99999999 is 54 years there, and here.
func seconds(s string) (int64, bool) {
	if s == "-1" || strings.EqualFold(s, "INFINITE") || strings.EqualFold(s, "UNLIMITED") {
		return unlimitedSeconds, true
	}
	days, clock, dashed := strings.Cut(s, "-")
	var fields [3]int64 // as written, from the left
	if !dashed {
		n, ok := clockFields(s, &fields, false)
		switch {
		case !ok:
			return 0, false
		case n == 1:
			return wrap32(fields[0] * 60), true
		case n == 2:
			return wrap32(fields[0]*60 + fields[1]), true
		}
		return wrap32(fields[0]*3600 + fields[1]*60 + fields[2]), true
	}
	if days == "" {
		// -5 is five negative days to sbatch, which says it in minutes of 32 bits.
		n, err := strconv.ParseInt(clock, 10, 32)
		return wrap32(-n * 86400), err == nil && digits(clock)
	}
	if !digits(days) {
		return 0, false
	}
	d, _ := strconv.ParseInt(days, 10, 64)
	if _, ok := clockFields(clock, &fields, true); !ok {
		return 0, false
	}
	return wrap32(wrap32(d)*86400 + fields[0]*3600 + fields[1]*60 + fields[2]), true
}

func wrap32(n int64) int64 { return int64(int32(n)) }

// clockFields reads up to three numbers with colons. Nothing at all is allowed only after "D-".
func clockFields(s string, fields *[3]int64, mayBeEmpty bool) (n int, ok bool) {
	if s == "" {
		return 0, mayBeEmpty
	}
	for {
		part, rest, more := strings.Cut(s, ":")
		if n == len(fields) || !digits(part) {
			return n, false
		}
		v, _ := strconv.ParseInt(part, 10, 64)
		fields[n] = wrap32(v)
		n++
		if !more {
			return n, true
		}
		s = rest
	}
}

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

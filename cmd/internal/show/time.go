package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Times writes times as the environment asks for it: the client's zone, and SLURM_TIME_FORMAT.
type Times struct {
	format string
	now    time.Time
}

// NewTimes reads SLURM_TIME_FORMAT from env.
func NewTimes(env []string, now time.Time) Times {
	return Times{format: Env(env, "SLURM_TIME_FORMAT"), now: now}
}

// Now is the time that ages are counted from.
func (t Times) Now() time.Time { return t.now }

// Unix writes seconds since 1970 as a local time.
func (t Times) Unix(seconds int64) string {
	at := time.Unix(seconds, 0).Local()
	switch t.format {
	case "", "standard":
		return at.Format("2006-01-02T15:04:05")
	case "relative":
		return relative(at, t.now.Local())
	}
	return Strftime(t.format, at)
}

// relative is how squeue says when: only as much of the date as today leaves open.
func relative(at, now time.Time) string {
	days := int(midnight(at).Sub(midnight(now)).Hours()+36)/24 - 1
	clock := at.Format("15:04:05")
	switch {
	case at.Year() != now.Year():
		return at.Format("2 Jan 2006")
	case days == -1:
		return "Ystday " + at.Format("15:04")
	case days == 0:
		return clock
	case days == 1:
		return "Tomorr " + at.Format("15:04")
	case days < -1 || days > 6:
		return at.Format("2 Jan 15:04")
	}
	return at.Format("Mon 15:04")
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// strftimeLayouts are strftime's letters that are one of Go's layouts.
var strftimeLayouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'h': "Jan", 'c': "Mon Jan _2 15:04:05 2006", 'd': "02", 'D': "01/02/06",
	'e': "_2", 'F': "2006-01-02", 'H': "15", 'I': "03", 'j': "002", 'm': "01", 'M': "04", 'p': "PM", 'r': "03:04:05 PM", 'R': "15:04",
	'S': "05", 'T': "15:04:05", 'x': "01/02/06", 'X': "15:04:05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST",
}

// Strftime writes t as strftime(3) does in the C locale; letters that it does not know stay as they are.
func Strftime(format string, t time.Time) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch c := format[i]; {
		case c == 's':
			b.WriteString(strconv.FormatInt(t.Unix(), 10))
		case c == '%':
			b.WriteByte('%')
		case c == 'n':
			b.WriteByte('\n')
		case c == 't':
			b.WriteByte('\t')
		case c == 'k':
			fmt.Fprintf(&b, "%2d", t.Hour())
		case c == 'u':
			b.WriteString(strconv.Itoa((int(t.Weekday())+6)%7 + 1))
		case c == 'w':
			b.WriteString(strconv.Itoa(int(t.Weekday())))
		case strftimeLayouts[c] != "":
			b.WriteString(t.Format(strftimeLayouts[c]))
		default:
			b.WriteString("%" + string(c))
		}
	}
	return b.String()
}

// Elapsed writes a number of seconds as squeue does: 1:43, 2:03:04, 1-02:03:04.
func Elapsed(seconds int64) string {
	d, h, m, s := split(seconds)
	var buf [24]byte
	b := buf[:0]
	if d > 0 {
		b = append(strconv.AppendInt(b, d, 10), '-')
	}
	if d > 0 || h > 0 {
		b = append(appendTwo(b, h, d > 0), ':')
	}
	b = append(appendTwo(b, m, d > 0 || h > 0), ':')
	return string(appendTwo(b, s, true))
}

// appendTwo writes n, with two digits at least if padded.
func appendTwo(b []byte, n int64, padded bool) []byte {
	if padded && n < 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, n, 10)
}

// Clock writes a number of seconds as sacct does: 00:01:43, 1-02:03:04.
func Clock(seconds int64) string {
	d, h, m, s := split(seconds)
	if d > 0 {
		return fmt.Sprintf("%d-%02d:%02d:%02d", d, h, m, s)
	}
	return fmt.Sprintf("%02d:%02d:%02d", h, m, s)
}

func split(seconds int64) (d, h, m, s int64) {
	seconds = max(seconds, 0)
	return seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60
}

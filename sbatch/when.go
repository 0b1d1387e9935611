package sbatch

import (
	"strings"
	"time"
)

// noPosition is the position of a bad time whose position sbatch does not tell.
const noPosition = -2

// moment collects the parts of --begin and --deadline while they are read from left to right.
type moment struct {
	s    string
	pos  int
	now  time.Time
	year int // 0: not given

	month    time.Month // 0: no date
	day      int
	clock    bool
	h, m, s2 int
	relative bool // now, perhaps with an offset: complete in itself
	offset   time.Duration
	dayShift int // today, tomorrow
	dayWord  bool
	old      bool // 22.05: fewer words
}

// pointInTime reads a time as sbatch does: now+2hours, 16:00, 8:30pm, tomorrow 10:00, 12/25,
// 122526, 2027-01-02T10:00, noon, teatime, uts1800000000. Blanks, dashes and T may stand between
// the parts. A clock time without a date is the next such time, a date without a year the next such
// day, both in the zone of now. pos is where reading failed, for the message.
func pointInTime(s string, now time.Time, r Release) (t time.Time, pos int, ok bool) {
	if s == "" {
		return t, noPosition, false
	}
	if rest, uts := strings.CutPrefix(s, "uts"); uts {
		n, tail, _ := number(rest)
		if tail != "" || n <= 0 || !digits(rest) {
			return t, 0, false
		}
		return time.Unix(n, 0).In(now.Location()), 0, true
	}
	m := moment{s: s, now: now, old: r < Slurm2411}
	for m.pos < len(s) {
		if !m.part() {
			return t, m.pos, false
		}
	}
	t = m.resolve()
	if t.Unix() == 0 || !m.relative && !m.clock && !m.dayWord && m.month == 0 {
		return t, noPosition, false
	}
	return t, 0, true
}

// clockWords are times of day by name.
var clockWords = [...]struct {
	word string
	hour int
}{{"midnight", 0}, {"elevenses", 11}, {"noon", 12}, {"fika", 15}, {"teatime", 16}}

// part reads one part of the time and moves on; on failure pos is where.
func (m *moment) part() bool {
	rest := m.s[m.pos:]
	switch c := rest[0]; {
	case m.relative && !isBlank(c):
		return false
	case m.word("today"):
		m.month, m.dayWord, m.dayShift = 0, true, 0
		return true
	case m.word("tomorrow"):
		m.month, m.dayWord, m.dayShift = 0, true, 1
		return true
	case m.word("now"):
		return m.readNow()
	case isDigit(rest, 0):
		return m.number(rest)
	}
	for _, w := range clockWords {
		if w.word == "elevenses" && m.old {
			continue
		}
		if m.word(w.word) {
			m.clock, m.h, m.m, m.s2 = true, w.hour, 0, 0
			return true
		}
	}
	if c := rest[0]; isBlank(c) || c == '-' || c == 'T' {
		m.pos++
		return true
	}
	return false
}

func (m *moment) word(w string) bool {
	if len(m.s)-m.pos < len(w) || !strings.EqualFold(m.s[m.pos:m.pos+len(w)], w) {
		return false
	}
	m.pos += len(w)
	return true
}

func isDigit(s string, i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }

func (m *moment) blanks() {
	for m.pos < len(m.s) && isBlank(m.s[m.pos]) {
		m.pos++
	}
}

// readNow reads what may follow now. The word must be the first thing of all, else sbatch names an
// odd position.
func (m *moment) readNow() bool {
	start := m.pos - len("now")
	m.blanks()
	if start > 0 {
		m.pos += start
		return false
	}
	m.relative = true
	return m.pos == len(m.s) || m.readOffset()
}

// readOffset reads +N or -N and a unit in full.
func (m *moment) readOffset() bool {
	sign := time.Duration(1)
	switch m.s[m.pos] {
	case '-':
		sign = -1
	case '+':
	default:
		return false
	}
	at := m.pos
	m.pos++
	m.blanks()
	if !isDigit(m.s, m.pos) {
		m.pos = at
		return false
	}
	n := time.Duration(0)
	for ; isDigit(m.s, m.pos); m.pos++ {
		n = min(n*10+time.Duration(m.s[m.pos]-'0'), 1<<31)
	}
	m.blanks()
	unit := time.Second
	if m.pos < len(m.s) {
		at := m.pos - 1
		found := false
		for _, u := range offsetUnits {
			if m.word(u.name) {
				m.word("s")
				unit, found = u.length, true
				break
			}
		}
		if !found {
			m.pos = at
			return false
		}
	}
	m.offset = sign * n * unit
	return true
}

var offsetUnits = [...]struct {
	name   string
	length time.Duration
}{{"second", time.Second}, {"minute", time.Minute}, {"hour", time.Hour}, {"day", 24 * time.Hour}, {"week", 7 * 24 * time.Hour}}

// number reads a clock time or a date.
func (m *moment) number(rest string) bool {
	if i := strings.IndexByte(rest, ':'); i == 1 || i == 2 && isDigit(rest, 1) {
		return m.readClock()
	}
	if len(rest) >= 8 && digits(rest[:4]) && rest[4] == '-' && rest[7] == '-' {
		return m.readISODate(rest)
	}
	return m.readDate()
}

// upTo reads one or two digits as a number from low to high. A number outside leaves pos two before
// its end, which is what sbatch's message says.
func (m *moment) upTo(low, high int) (n int, ok bool) {
	if !isDigit(m.s, m.pos) {
		return 0, false
	}
	n = int(m.s[m.pos] - '0')
	m.pos++
	if isDigit(m.s, m.pos) {
		n = n*10 + int(m.s[m.pos]-'0')
		m.pos++
	}
	if n < low || n > high {
		m.pos -= 2
		return n, false
	}
	return n, true
}

// twoDigits reads exactly two digits.
func (m *moment) twoDigits(low, high int) (n int, ok bool) {
	for i := range 2 {
		if !isDigit(m.s, m.pos+i) {
			m.pos += i
			return 0, false
		}
	}
	return m.upTo(low, high)
}

func (m *moment) readClock() (ok bool) {
	m.s2 = 0
	if m.h, ok = m.upTo(0, 23); !ok {
		return false
	}
	m.pos++ // the colon
	if m.m, ok = m.twoDigits(0, 59); !ok {
		return false
	}
	if m.pos < len(m.s) && m.s[m.pos] == ':' {
		m.pos++
		if m.s2, ok = m.twoDigits(0, 59); !ok {
			return false
		}
	}
	m.clock = true
	at := m.pos
	m.blanks()
	switch {
	case m.h <= 12 && m.word("pm"):
		if m.h < 12 {
			m.h += 12
		}
	case m.h <= 12 && m.word("am"):
		m.h %= 12
	default:
		m.pos = at
	}
	return true
}

func (m *moment) readISODate(rest string) (ok bool) {
	m.year = int(rest[0]-'0')*1000 + int(rest[1]-'0')*100 + int(rest[2]-'0')*10 + int(rest[3]-'0')
	m.pos += 5
	month, ok := m.upTo(1, 12)
	if !ok {
		return false
	}
	m.pos++
	m.month, m.dayWord = time.Month(month), false
	m.day, ok = m.upTo(1, 31)
	return ok
}

// readDate reads MM/DD[/YY], MM.DD[.YY] and MMDD[YY].
func (m *moment) readDate() bool {
	separator := func() {
		if m.pos < len(m.s) && (m.s[m.pos] == '/' || m.s[m.pos] == '.') {
			m.pos++
		}
	}
	month, ok := m.upTo(1, 12)
	if !ok {
		return false
	}
	separator()
	if m.day, ok = m.upTo(1, 31); !ok {
		return false
	}
	m.month, m.year, m.dayWord = time.Month(month), 0, false
	separator()
	if isDigit(m.s, m.pos) {
		year, ok := m.twoDigits(0, 99)
		if !ok {
			return false
		}
		m.year = 2000 + year
	}
	return true
}

// resolve puts the parts together.
func (m *moment) resolve() time.Time {
	if m.relative {
		return m.now.Truncate(time.Second).Add(m.offset)
	}
	year, month, day := m.now.Date()
	at := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, m.h, m.m, m.s2, 0, m.now.Location())
	}
	switch {
	case m.month != 0 && m.year != 0:
		return at(m.year, m.month, m.day)
	case m.month != 0:
		if t := at(year, m.month, m.day); !t.Before(m.now.Truncate(time.Second)) {
			return t
		}
		return at(year+1, m.month, m.day)
	case m.dayWord:
		day += m.dayShift
	case m.clock:
		h, mi, s := m.now.Clock()
		if m.h*3600+m.m*60+m.s2 < h*3600+mi*60+s {
			day++
		}
	}
	return at(year, month, day)
}

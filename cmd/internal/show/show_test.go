package show

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"fsub/slurm/wire"
)

type thing struct{ name, state string }

var (
	nameField  = &Field[thing]{Header: "NAME", Value: func(t *thing) string { return t.name }}
	stateField = &Field[thing]{Header: "STATE", Value: func(t *thing) string { return t.state }}
	letters    = map[byte]*Field[thing]{'j': nameField, 'T': stateField}
	longNames  = map[string]*Field[thing]{"name": nameField, "state": stateField}
)

func TestFormat(t *testing.T) {
	for _, c := range []struct{ format, header, row, unknown string }{
		{"%j %T", "NAME STATE", "train RUNNING", ""},
		{"%.8j|%3T|", "    NAME|STA|", "   train|RUN|", ""},
		{"%7j%2T", "NAME   ST", "train  RU", ""},
		{`"%j","%T"`, `"NAME","STATE"`, `"train","RUNNING"`, ""},
		{" %j", " NAME", " train", ""},
		{`%j\x1f%T`, `NAME\x1fSTATE`, `train\x1fRUNNING`, ""},
		{"\x1e%j\x1f", "\x1eNAME\x1f", "\x1etrain\x1f", ""},
		{"%-10j|%T", "%-10j|STATE", "%-10j|RUNNING", "-"},
		{"%q%j", "%qNAME", "%qtrain", "q"},
		{"100%", "100%", "100%", ""},
		{"none", "none", "none", ""},
	} {
		l, unknown := Format(c.format, letters)
		if h, r := l.Header(), l.Row(&thing{"train", "RUNNING"}); h != c.header || r != c.row || strings.Join(unknown, ",") != c.unknown {
			t.Errorf("%q: %q %q %q, want %q %q %q", c.format, h, r, unknown, c.header, c.row, c.unknown)
		}
	}
}

func TestLongFormat(t *testing.T) {
	for _, c := range []struct{ format, row string }{
		{"Name,STATE", "train               RUNNING             "},
		{"name:4,state:.10", "trai   RUNNING"},
		{"name:|,state:", "train|RUNNING"},
		{"name:\x1f,state:3!", "train\x1fRUN!"},
		{"bogus,name:", "train"},
	} {
		l, _ := LongFormat(c.format, longNames)
		if r := l.Row(&thing{"train", "RUNNING"}); r != c.row {
			t.Errorf("%q: %q, want %q", c.format, r, c.row)
		}
	}
	if _, unknown := LongFormat("bogus,name", longNames); !reflect.DeepEqual(unknown, []string{"bogus"}) {
		t.Errorf("unknown %q", unknown)
	}
}

func TestFitCountsCharacters(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		right bool
		want  string
	}{{"héé", 5, false, "héé  "}, {"héé", 2, true, "hé"}, {"abc", 0, true, "abc"}, {"", 2, true, "  "}} {
		if got := Fit(c.text, c.width, c.right); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestDurations(t *testing.T) {
	for seconds, want := range map[int64][2]string{
		0: {"0:00", "00:00:00"}, 103: {"1:43", "00:01:43"}, 7384: {"2:03:04", "02:03:04"}, 93784: {"1-02:03:04", "1-02:03:04"}, -5: {"0:00", "00:00:00"},
	} {
		if got := [2]string{Elapsed(seconds), Clock(seconds)}; got != want {
			t.Errorf("%d s: %q, want %q", seconds, got, want)
		}
	}
}

func TestTimeFormats(t *testing.T) {
	now := time.Date(2026, 11, 20, 17, 33, 9, 0, time.Local)
	for _, c := range []struct {
		format string
		at     time.Time
		want   string
	}{
		{"", now, "2026-11-20T17:33:09"}, {"standard", now, "2026-11-20T17:33:09"}, {"%s", now, fmt.Sprint(now.Unix())},
		{"%Y/%m/%d %H:%M %% %q", now, "2026/11/20 17:33 % %q"}, {"relative", now.Add(-time.Hour), "16:33:09"},
		{"relative", now.AddDate(0, 0, -1), "Ystday 17:33"}, {"relative", now.AddDate(0, 0, 1), "Tomorr 17:33"}, {"relative", now.AddDate(-1, 0, 0), "20 Nov 2025"},
	} {
		if got := NewTimes([]string{"SLURM_TIME_FORMAT=" + c.format}, now).Unix(c.at.Unix()); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.format, c.at, got, c.want)
		}
	}
}

func TestWhen(t *testing.T) {
	now := time.Date(2026, 11, 20, 17, 33, 9, 0, time.UTC)
	at := func(month, day, h, m, s int) time.Time {
		return time.Date(2026, time.Month(month), day, h, m, s, 0, time.UTC)
	}
	for text, want := range map[string]time.Time{
		"now": now, "now-24hours": now.Add(-24 * time.Hour), "now-1hour": now.Add(-time.Hour), "now+90": now.Add(90 * time.Second), "now-2days": now.AddDate(0, 0, -2),
		"now-1min": now.Add(-time.Minute), "today": at(11, 20, 0, 0, 0), "midnight": at(11, 20, 0, 0, 0), "noon": at(11, 20, 12, 0, 0), "08:30": at(11, 20, 8, 30, 0), "23:59:58": at(11, 20, 23, 59, 58),
		"2026-11-01": at(11, 1, 0, 0, 0), "2026-11-01T08:30": at(11, 1, 8, 30, 0), "2026-11-01T08:30:15": at(11, 1, 8, 30, 15), "2026-11-01-08:30:15": at(11, 1, 8, 30, 15),
		"01/02": at(1, 2, 0, 0, 0), "01/02/26-08:30": at(1, 2, 8, 30, 0), "01/02/26": at(1, 2, 0, 0, 0), "010226": at(1, 2, 0, 0, 0), "11/20 08:30": at(11, 20, 8, 30, 0), "1970-01-01-00:00:01": time.Unix(1, 0).UTC(), "uts1795195874": time.Unix(1795195874, 0),
		"soon": {}, "now-": {}, "now-2parsecs": {}, "2026-13-01": {}, "25:00": {}, "": {},
	} {
		got, ok := When(text, now)
		if ok != !want.IsZero() || ok && !got.Equal(want) {
			t.Errorf("%q: %v %v, want %v", text, got, ok, want)
		}
	}
}

func TestRanges(t *testing.T) {
	for text, want := range map[string][]int{
		"2-5%2": {2, 3, 4, 5}, "1,3,7-8": {1, 3, 7, 8}, "[0-10:5]": {0, 5, 10}, "7": {7}, "": nil, "a": nil, "3-x": nil, "1-2:0": nil, "0-99999999": nil,
	} {
		if got := Ranges(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestMemory(t *testing.T) {
	for mib, want := range map[int64]string{0: "0M", 100: "100M", 1024: "1G", 4096: "4G", 64000: "62.50G", 8000: "8000M", 1536: "1.50G", 1 << 20: "1T"} {
		if got := Memory(mib); got != want {
			t.Errorf("%d MiB: %s, want %s", mib, got, want)
		}
	}
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		list         wire.Strings
		state, short string
		ended        bool
	}{
		{wire.Strings{"PENDING"}, "PENDING", "PD", false}, {wire.Strings{"RUNNING", "CONFIGURING"}, "CONFIGURING", "CF", false},
		{wire.Strings{"COMPLETED", "COMPLETING"}, "COMPLETING", "CG", false}, {wire.Strings{"COMPLETED"}, "COMPLETED", "CD", true},
		{wire.Strings{"NODE_FAIL"}, "NODE_FAIL", "NF", true},
	} {
		if s := State(c.list); s != c.state || CompactState(s) != c.short || Ended(c.list) != c.ended {
			t.Errorf("%v: %s %s %v", c.list, s, CompactState(s), Ended(c.list))
		}
	}
	if LongState("cg") != "COMPLETING" || LongState("Running") != "RUNNING" || LongState("x") != "" {
		t.Error("LongState")
	}
}

type answer struct {
	status int
	body   string
	err    error
}

func (a answer) Do(string, string, []byte) (int, []byte, error) {
	return a.status, []byte(a.body), a.err
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		answer answer
		number int
		text   string
	}{
		{answer{404, `{"errors":[{"error_number":2017,"error":"Invalid job id specified"}]}`, nil}, 2017, "Invalid job id specified"},
		{answer{403, `{"error":{"number":2010,"text":"Invalid user id"}}`, nil}, 2010, "Invalid user id"},
		{answer{401, "Authentication failure\n", nil}, wire.ErrAuth, "Authentication failure"},
		{answer{200, "<html>", nil}, 0, "Unexpected message received"},
		{answer{0, "", errors.New("Socket timed out")}, 0, "Socket timed out"},
	} {
		var out wire.Reply
		var f *Failure
		if err := Get(c.answer, "/", &out); !errors.As(err, &f) || f.Number != c.number || f.Text != c.text {
			t.Errorf("%+v: %v", c.answer, err)
		}
	}
}

func TestQuery(t *testing.T) {
	var q Query
	q.Add("a", "")
	q.Add("name", "x y&z,é")
	q.Add("b", "1")
	if got := q.String(); got != "?name=x%20y%26z,%C3%A9&b=1" {
		t.Error(got)
	}
}

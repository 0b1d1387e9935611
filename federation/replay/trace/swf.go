package trace

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// epoch is when a trace begins that does not say.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// swfLines reads the Standard Workload Format: 18 numbers in a line, -1 for what is not known, comments after ";".
// https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
func swfLines(in *bufio.Reader) lines {
	scan := bufio.NewScanner(in)
	begin, row := epoch, 0
	return func() (line, error) {
		for scan.Scan() {
			row++
			text := strings.TrimSpace(scan.Text())
			if comment, is := strings.CutPrefix(text, ";"); is {
				if value, is := strings.CutPrefix(strings.TrimSpace(comment), "UnixStartTime:"); is {
					if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil && n > 0 {
						begin = time.Unix(n, 0).UTC()
					}
				}
				continue
			}
			if text == "" {
				continue
			}
			l, err := swfLine(text, begin)
			l.row = row
			return l, err
		}
		if err := scan.Err(); err != nil {
			return line{row: row + 1}, err
		}
		return line{}, io.EOF
	}
}

func swfLine(text string, begin time.Time) (l line, err error) {
	fields := strings.Fields(text)
	if len(fields) != 18 {
		return l, fmt.Errorf("%d fields, want the 18 of the Standard Workload Format", len(fields))
	}
	var n [18]float64
	for i, f := range fields {
		if n[i], err = strconv.ParseFloat(f, 64); err != nil {
			return l, fmt.Errorf("field %d: invalid number %q", i+1, f)
		}
	}
	if n[3] <= 0 {
		return l, errSkip
	}
	if n[1] < 0 {
		return l, fmt.Errorf("field 2: invalid time of submission %q: want a number of seconds", fields[1])
	}
	if !(max(n[7], n[4]) <= most) { // NaN is not
		return l, fmt.Errorf("invalid number of processors: fields 5 and 8 are %q and %q", fields[4], fields[7])
	}
	l = line{submit: begin.Add(seconds(n[1])), run: seconds(n[3]), cpus: int(max(n[7], n[4], 1))}
	if n[8] > 0 {
		l.limit = seconds(n[8])
	}
	if n[11] >= 0 {
		l.user = fmt.Sprintf("user%d", int(n[11]))
	}
	if n[12] >= 0 {
		l.account = fmt.Sprintf("group%d", int(n[12]))
	}
	if n[13] >= 0 {
		l.name = fmt.Sprintf("app%d", int(n[13]))
	}
	return l, nil
}

// seconds is so many seconds; the longest duration that there is for what none can hold.
func seconds(n float64) time.Duration {
	if !(math.Abs(n) < math.MaxInt64/1e9) { // NaN is not
		return math.MaxInt64
	}
	return time.Duration(n * float64(time.Second))
}

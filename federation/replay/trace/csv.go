package trace

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/sbatch"
)

// columns are the names that a column of a CSV may have. A job needs a time of submission, and a duration or a start and an end.
var columns = map[string][]string{
	"submit":    {"submit_time_s", "submit_time", "submit", "submission", "time_submit"},
	"run":       {"duration_s", "duration", "run_s", "run_time", "elapsed_s", "elapsed", "runtime"},
	"start":     {"start_time_s", "start_time", "start"},
	"end":       {"end_time_s", "end_time", "end"},
	"gpus":      {"gpus", "gpu", "gpu_num", "num_gpus"},
	"nodes":     {"nodes", "node_num", "num_nodes"},
	"cpus":      {"cpus", "cpu", "cores", "cpu_num"},
	"mem":       {"mem_mib", "memory_mib"},
	"kind":      {"gpu_type", "gpu_kind"},
	"user":      {"user_or_team", "user", "user_id"},
	"account":   {"account", "group", "team", "vc", "project"},
	"name":      {"name", "job_name", "jobname"},
	"partition": {"partition", "queue"},
	"qos":       {"qos"},
	"limit":     {"time_limit_s", "timelimit_s", "limit_s", "time_limit", "timelimit"},
}

// csvLines reads CSV with a header. Times are seconds, or dates as in ISO 8601.
func csvLines(in *bufio.Reader, comma rune) (lines, error) {
	r := csv.NewReader(in)
	r.Comma = comma
	head, err := r.Read()
	if bad := (*csv.ParseError)(nil); errors.As(err, &bad) {
		return nil, fmt.Errorf("line %d: %w", bad.Line, bad.Err)
	}
	if err != nil {
		return nil, err
	}
	last := 1
	at := map[string]int{}
	for what, names := range columns {
		for _, name := range slices.Backward(names) {
			if i := slices.IndexFunc(head, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), name) }); i >= 0 {
				at[what] = i
			}
		}
	}
	_, run := at["run"]
	_, start := at["start"]
	_, end := at["end"]
	if _, ok := at["submit"]; !ok || !run && !(start && end) {
		return nil, fmt.Errorf("its first line is %.200q: want the names of columns, submit_time_s and duration_s at least; others are nodes, cpus, gpus, gpu_type, user, account, name, partition, qos, time_limit_s, mem_mib",
			strings.Join(head, ","))
	}
	return func() (line, error) {
		row, err := r.Read()
		if bad := (*csv.ParseError)(nil); errors.As(err, &bad) {
			if bad.Err == csv.ErrFieldCount {
				return line{row: bad.Line}, fmt.Errorf("%d columns, want the %d that the first line names", len(row), len(head))
			}
			return line{row: bad.Line}, bad.Err
		}
		if err != nil {
			return line{row: last + 1}, err
		}
		l, err := csvLine(func(what string) string {
			if i, ok := at[what]; ok {
				return strings.TrimSpace(row[i])
			}
			return ""
		}, func(what string) string { return strings.TrimSpace(head[at[what]]) })
		l.row, _ = r.FieldPos(0)
		last = l.row
		return l, err
	}, nil
}

// csvLine reads a job; get returns what a line has of something, called what its column is called.
func csvLine(get, called func(string) string) (l line, err error) {
	whole := func(what string) (n int) {
		text := get(what)
		if text == "" || err != nil {
			return 0
		}
		x, bad := strconv.ParseFloat(text, 64)
		if bad != nil || !(x >= 0 && x <= 1e9) { // NaN is neither
			err = fmt.Errorf("invalid %s %q: want a number, 0 or more", called(what), text)
		}
		if n = int(x); float64(n) < x { // a part of a GPU is one
			n++
		}
		return n
	}
	moment := func(what string) (t time.Time) {
		text := get(what)
		if err != nil {
			return t
		}
		var bad error
		if t, bad = readTime(text); bad != nil {
			err = fmt.Errorf("invalid %s: %w", called(what), bad)
		}
		return t
	}
	span := func(what string) (d time.Duration) {
		text := get(what)
		if text == "" || err != nil {
			return 0
		}
		x, bad := strconv.ParseFloat(text, 64)
		if bad != nil || x > 1e9 {
			err = fmt.Errorf("invalid %s %q: want a number of seconds", called(what), text)
		}
		return seconds(max(x, 0))
	}
	l = line{submit: moment("submit"), run: span("run"), gpus: whole("gpus"), nodes: whole("nodes"), cpus: whole("cpus"), kind: get("kind"), mem: sbatch.MemMiB(whole("mem")),
		user: get("user"), account: get("account"), name: get("name"), partition: get("partition"), qos: get("qos"), limit: span("limit")}
	if get("run") == "" && get("start") != "" && get("end") != "" {
		l.run = moment("end").Sub(moment("start"))
	}
	if l.account == "" {
		l.account = l.user
	}
	if err == nil && l.run <= 0 {
		err = errSkip
	}
	return l, err
}

// readTime reads seconds since 1970, or since the beginning of the trace if they are few, or a date.
func readTime(text string) (time.Time, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if n < 1e8 {
			return epoch.Add(seconds(n)), nil
		}
		return time.Unix(0, 0).UTC().Add(seconds(n)), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid time %q: want seconds, or 2026-01-31T08:00:00", text)
}

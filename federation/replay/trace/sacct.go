package trace

//lint:file-ignore ST1005 Errors begin with the name of sacct's column.

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/sbatch"
)

// sacctCommand prints what a replay needs.
const sacctCommand = "sacct -a -X -P -o JobIDRaw,JobName,User,Account,Partition,QOS,Submit,Start,ElapsedRaw,TimelimitRaw,NNodes,NCPUS,AllocTRES,State"

// sacctLines reads what this prints, or more columns in any order:
//
//	sacct -a -X -P -S DATE -E DATE -o JobIDRaw,JobName,User,Account,Partition,QOS,Submit,Start,ElapsedRaw,TimelimitRaw,NNodes,NCPUS,ReqTRES,AllocTRES,State
func sacctLines(in *bufio.Reader) (lines, error) {
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 1<<20)
	if !scan.Scan() {
		return nil, io.ErrUnexpectedEOF
	}
	at := map[string]int{}
	columns := strings.Split(scan.Text(), "|")
	for i, name := range columns {
		at[strings.ToLower(strings.TrimSpace(name))] = i
	}
	_, raw := at["elapsedraw"]
	_, plain := at["elapsed"]
	if _, ok := at["submit"]; !ok || !raw && !plain {
		return nil, fmt.Errorf("its first line is %.200q, and names no columns Submit and ElapsedRaw: run %s", scan.Text(), sacctCommand)
	}
	rows := 1
	return func() (line, error) {
		for scan.Scan() {
			rows++
			if strings.TrimSpace(scan.Text()) == "" {
				continue
			}
			row := strings.Split(scan.Text(), "|")
			if len(row) != len(columns) {
				return line{row: rows}, fmt.Errorf("%d columns, want the %d that the first line names", len(row), len(columns))
			}
			l, err := sacctLine(func(names ...string) string {
				for _, name := range names {
					if i, ok := at[name]; ok && row[i] != "" {
						return row[i]
					}
				}
				return ""
			})
			l.row = rows
			return l, err
		}
		if err := scan.Err(); err != nil {
			return line{row: rows + 1}, err
		}
		return line{}, io.EOF
	}, nil
}

func sacctLine(get func(...string) string) (l line, err error) {
	if strings.Contains(get("jobidraw", "jobid"), ".") { // a step
		return l, errStep
	}
	if l.run, err = sacctSpan(get("elapsedraw"), get("elapsed"), time.Second); err != nil {
		return l, fmt.Errorf("Elapsed: %w", err)
	}
	if raw := get("elapsedraw"); raw != "" && l.run == 0 && strings.Trim(raw, "0") != "" {
		return l, fmt.Errorf("invalid ElapsedRaw %q: want a number of seconds", raw)
	}
	if l.run <= 0 {
		return l, errSkip
	}
	if l.submit, err = readTime(get("submit")); err != nil {
		return l, fmt.Errorf("Submit: %w", err)
	}
	if l.limit, err = sacctSpan(get("timelimitraw"), get("timelimit"), time.Minute); err != nil {
		return l, fmt.Errorf("Timelimit: %w", err)
	}
	l.user, l.account, l.name, l.partition, l.qos = get("user"), get("account"), get("jobname"), get("partition"), get("qos")
	tres, err := accounting.ParseTRES(get("alloctres", "reqtres"))
	if err != nil {
		return l, err
	}
	l.nodes, l.cpus = int(tres["node"]), int(tres["cpu"])
	if n, err := strconv.Atoi(get("nnodes")); err == nil && l.nodes == 0 {
		l.nodes = n
	}
	if n, err := strconv.Atoi(get("ncpus", "reqcpus")); err == nil && l.cpus == 0 {
		l.cpus = n
	}
	l.mem = sbatch.MemMiB(tres["mem"]) / sbatch.MemMiB(max(l.nodes, 1))
	l.gpus = int(tres["gres/gpu"])
	for name, n := range tres {
		if kind, is := strings.CutPrefix(name, "gres/gpu:"); is {
			l.kind, l.gpus = kind, max(l.gpus, int(n))
		}
	}
	return l, nil
}

// sacctSpan reads a number of units, or [D-]HH:MM:SS. Words like UNLIMITED and Partition_Limit are no limit.
func sacctSpan(raw, text string, unit time.Duration) (time.Duration, error) {
	if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
		if n > int64(longest/unit) {
			return 0, fmt.Errorf("invalid time %q: want no more than a hundred years", raw)
		}
		return time.Duration(n) * unit, nil
	}
	if raw != "" || text == "" || strings.EqualFold(text, "UNLIMITED") || strings.EqualFold(text, "Partition_Limit") {
		return 0, nil
	}
	days, clock, found := strings.Cut(text, "-")
	if !found {
		days, clock = "0", text
	}
	d, err := strconv.Atoi(days)
	parts := strings.Split(clock, ":")
	if err != nil || len(parts) != 3 {
		return 0, fmt.Errorf("invalid time %q: want D-HH:MM:SS", text)
	}
	sum := 24 * d
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || n > int(longest/time.Hour) || d > int(longest/(24*time.Hour)) {
			return 0, fmt.Errorf("invalid time %q: want D-HH:MM:SS, and no more than a hundred years", text)
		}
		if i == 0 {
			sum += n
		} else {
			sum = 60*sum + n
		}
	}
	return time.Duration(sum) * time.Second, nil
}

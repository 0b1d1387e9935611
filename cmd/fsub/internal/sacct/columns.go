package sacct

import (
	"fmt"
	"strconv"
	"strings"

	"fsub/cmd/fsub/internal/show"
)

// column is a field as --format asks for it.
type column struct {
	*field
	width int // negative: left-justified
}

const (
	defaultFields = "jobid,jobname,partition,account,alloccpus,state,exitcode"
	briefFields   = "jobid,state,exitcode"
	longFields    = "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,averss," +
		"maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,alloccpus,elapsed,state,exitcode,avecpufreq," +
		"reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite," +
		"maxdiskwritenode,maxdiskwritetask,avediskwrite,reqtres,alloctres,tresusageinave,tresusageinmax,tresusageinmaxnode,tresusageinmaxtask," +
		"tresusageinmin,tresusageinminnode,tresusageinmintask,tresusageintot,tresusageoutmax,tresusageoutmaxnode,tresusageoutmaxtask," +
		"tresusageoutave,tresusageouttot"
)

// columns reads the list of fields. Its error is a whole line for stderr.
func (c *command) columns() ([]column, error) {
	list := c.format
	switch {
	case list != "":
	case c.long:
		list = longFields
	case c.brief:
		list = briefFields
	default:
		list = defaultFields
	}
	var out []column
	for _, item := range show.List(list) {
		name, width, sized := strings.Cut(strings.TrimSpace(item), "%")
		f, err := findField(name)
		if err != nil {
			return nil, err
		}
		col := column{f, f.width}
		if sized {
			n, err := strconv.Atoi(width)
			if err != nil {
				return nil, fmt.Errorf("sacct: error: Invalid field requested: \"%s\"", item)
			}
			col.width = n
		}
		out = append(out, col)
	}
	return out, nil
}

// findField finds a field by the beginning of its name: the first of the table that fits.
func findField(name string) (*field, error) {
	lower := strings.ToLower(name)
	if lower == "allocgres" || lower == "reqgres" {
		return nil, fmt.Errorf("sacct: fatal: %s has been removed, please use %s", map[string]string{"allocgres": "AllocGRES", "reqgres": "ReqGRES"}[lower],
			map[string]string{"allocgres": "AllocTRES", "reqgres": "ReqTRES"}[lower])
	}
	for i := range fields {
		if lower != "" && strings.HasPrefix(strings.ToLower(fields[i].name), lower) {
			return &fields[i], nil
		}
	}
	return nil, fmt.Errorf("sacct: error: Invalid field requested: \"%s\"", name)
}

// print writes the table: in columns, or with --parsable as text between delimiters.
func (c *command) print(columns []column, records []record) {
	var b strings.Builder
	line := func(text func(column) string, mark bool) {
		for i, col := range columns {
			switch {
			case !c.parsable && !c.parsable2:
				b.WriteString(fit(text(col), col.width, mark) + " ")
			case c.parsable2 && i == len(columns)-1:
				b.WriteString(text(col))
			default:
				b.WriteString(text(col) + c.delimiter)
			}
		}
		b.WriteByte('\n')
	}
	if !c.noHeader {
		line(func(col column) string { return col.name }, false)
		if !c.parsable && !c.parsable2 {
			line(func(col column) string { return strings.Repeat("-", max(col.width, -col.width)) }, false)
		}
	}
	for i := range records {
		line(func(col column) string { return col.value(c, &records[i]) }, true)
	}
	c.stdout.Write([]byte(b.String()))
}

// fit pads or cuts text to a width; what was cut of a value is marked with a +.
func fit(text string, width int, mark bool) string {
	right := width > 0
	width = max(width, -width)
	runes := []rune(text)
	if len(runes) <= width || width == 0 {
		return show.Fit(text, width, right)
	}
	if mark {
		return string(runes[:width-1]) + "+"
	}
	return string(runes[:width])
}

// printFields is --helpformat: the names, four in a line.
func printFields(w interface{ Write([]byte) (int, error) }) {
	for i, f := range fields {
		end := " "
		if i%4 == 3 || i == len(fields)-1 {
			end = "\n"
		}
		fmt.Fprintf(w, "%-19s%s", f.name, end)
	}
}

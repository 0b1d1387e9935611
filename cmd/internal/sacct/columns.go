package sacct

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
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

// columns reads the list of fields: that of --format, then those of --brief and --long. Its error
// is a whole line for stderr.
func (c *command) columns() ([]column, error) {
	lists := []string{c.format}
	if c.brief {
		lists = append(lists, briefFields)
	}
	if c.long {
		lists = append(lists, longFields)
	}
	var out []column
	for _, list := range lists {
		for item := range strings.SplitSeq(list, ",") {
			if item == "" {
				break // sacct reads no further
			}
			cols, err := readColumn(strings.TrimSpace(item))
			if err != nil {
				return nil, err
			}
			out = append(out, cols...)
		}
	}
	if len(out) == 0 {
		for item := range strings.SplitSeq(defaultFields, ",") {
			f, _ := findField(item)
			out = append(out, column{f, f.width})
		}
	}
	return out, nil
}

// readColumn reads one item, "state%20"; "all" is every field.
func readColumn(item string) ([]column, error) {
	name, width, sized := strings.Cut(item, "%")
	if strings.EqualFold(name, "all") {
		out := make([]column, len(fields))
		for i := range fields {
			out[i] = column{&fields[i], fields[i].width}
		}
		return out, nil
	}
	f, err := findField(name)
	if err != nil {
		return nil, err
	}
	if !sized {
		return []column{{f, f.width}}, nil
	}
	n, _ := strconv.Atoi(width) // anything but a number counts as no width
	return []column{{f, n}}, nil
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
	if lower == "cost" {
		return &costField, nil
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
				b.WriteString(col.fit(text(col), mark) + " ")
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

// fit pads or cuts text to the column's width; what was cut of a value is marked with a +. A time
// that has no room is not shown in part.
func (c column) fit(text string, value bool) string {
	right, width := c.width > 0, max(c.width, -c.width)
	if width == 0 {
		return ""
	}
	runes := []rune(text)
	switch {
	case len(runes) <= width:
		return show.Fit(text, width, right)
	case value && c.time:
		return strings.Repeat("#", width)
	case value:
		return string(runes[:width-1]) + "+"
	}
	return string(runes[:width])
}

// printFields is --helpformat: the names, four in a line.
func printFields(_ *options, _ option.Value, w io.Writer) bool {
	for i, f := range fields {
		end := " "
		if i%4 == 3 || i == len(fields)-1 {
			end = "\n"
		}
		fmt.Fprintf(w, "%-19s%s", f.name, end)
	}
	return true
}

package scontrol

import (
	"fmt"
	"io"
	"strings"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// printer writes records and complaints as scontrol does.
type printer struct {
	stdout, stderr io.Writer
	times          show.Times
	oneLine        bool // --oneliner
	details        bool // --details
}

// fail prints a line on stderr and returns exit code 1.
func (p *printer) fail(format string, args ...any) int {
	fmt.Fprintf(p.stderr, format+"\n", args...)
	return 1
}

// complain prints the refusal of a job, or of tasks of an array: each of them with its fate, unless
// only refusals are asked for. A task that was named by its own number is spoken of like a job. It reports whether tasks were named.
func (p *printer) complain(r ref, result *v1.ActResult, onlyRefusals bool) (byTask bool) {
	id, _, byIndex := strings.Cut(r.text, "_")
	if result.Tasks == nil || !byIndex && r.Tasks.Len() > 0 {
		p.fail("%s for job %s", result.Error.Text, r.text)
		return false
	}
	for _, t := range result.Tasks {
		text := "No error"
		if t.Error != nil {
			text = t.Error.Text
		} else if onlyRefusals {
			continue
		}
		p.fail("%s_%s: %s", id, t.Tasks, text)
	}
	return true
}

// record is one entry of a listing: pieces, each followed by a line break and three blanks, or by
// one blank with --oneliner.
type record struct {
	b   strings.Builder
	sep string
}

func (p *printer) record() *record {
	if p.oneLine {
		return &record{sep: " "}
	}
	return &record{sep: "\n   "}
}

// line adds a piece.
func (r *record) line(format string, args ...any) {
	fmt.Fprintf(&r.b, format, args...)
	r.b.WriteString(r.sep)
}

// at writes a time, or word if it is not set.
func (p *printer) at(n wire.Number, word string) string {
	if n.Value() == 0 {
		return word
	}
	return p.times.Unix(n.Number)
}

// end writes a record out; without --oneliner a blank line follows it.
func (p *printer) end(r *record) {
	r.b.WriteByte('\n')
	if !p.oneLine {
		r.b.WriteByte('\n')
	}
	fmt.Fprint(p.stdout, r.b.String())
}

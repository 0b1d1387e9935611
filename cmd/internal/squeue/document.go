package squeue

import (
	"fmt"
	"io"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// printDocument writes --json or --yaml: what the daemon answers to programs, laid out for people.
// It is passed on as it comes.
func (c *command) printDocument(cluster string) error {
	status, body, err := c.caller.Stream(c.documentPath(cluster))
	if err != nil {
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	defer body.Close()
	if status >= 400 {
		reply, err := io.ReadAll(body)
		if err == nil {
			err = show.Refusal(reply)
		}
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	write := indentJSON
	if c.document == "yaml" {
		write = writeYAML
	}
	if err := write(c.stdout, body); err != nil {
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	return nil
}

func (c *command) documentPath(cluster string) string {
	if len(c.jobs) != 1 {
		return wire.Slurm(c.parser, wire.PathJobs) + c.query(cluster)
	}
	// The only case in which an unknown job is an error.
	id, _, _ := strings.Cut(c.jobs[0], "+")
	return wire.Slurm(c.parser, wire.PathJob) + id + c.query(cluster)
}

// indentJSON copies a JSON document with two blanks for each level, as slurm's commands write it.
// It needs no more memory than its buffer, however long the document is.
func indentJSON(w io.Writer, r io.Reader) error {
	in, out := make([]byte, 32<<10), make([]byte, 0, 64<<10)
	var p jsonIndenter
	for {
		n, err := r.Read(in)
		out = p.append(out[:0], in[:n])
		if _, werr := w.Write(out); werr != nil {
			return werr
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if p.depth != 0 || p.quoted {
		return &show.Failure{Text: "Unexpected message received"}
	}
	_, err := w.Write([]byte("\n"))
	return err
}

// jsonIndenter is where a document is in.
type jsonIndenter struct {
	depth           int
	quoted, escaped bool
	opened          bool // a bracket was, and nothing came after it yet
}

func (p *jsonIndenter) append(out, in []byte) []byte {
	for _, b := range in {
		if p.quoted {
			out = append(out, b)
			switch {
			case p.escaped:
				p.escaped = false
			case b == '\\':
				p.escaped = true
			case b == '"':
				p.quoted = false
			}
			continue
		}
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		case '}', ']':
			p.depth--
			if !p.opened {
				out = p.line(out)
			}
			p.opened = false
			out = append(out, b)
			continue
		}
		if p.opened {
			out, p.opened = p.line(out), false
		}
		out = append(out, b)
		switch b {
		case '{', '[':
			p.depth++
			p.opened = true
		case ',':
			out = p.line(out)
		case ':':
			out = append(out, ' ')
		case '"':
			p.quoted = true
		}
	}
	return out
}

// line begins a new line at the depth that was reached.
func (p *jsonIndenter) line(out []byte) []byte {
	out = append(out, '\n')
	for range p.depth {
		out = append(out, "  "...)
	}
	return out
}

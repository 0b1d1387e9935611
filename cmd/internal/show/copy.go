package show

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Copy writes a JSON document as Slurm's commands write --json or --yaml, piece by piece as it comes.
// A document that is cut off or none is "Unexpected message received".
func Copy(w io.Writer, doc io.Reader, yaml bool) error {
	copy := copyJSON
	if yaml {
		copy = copyYAML
	}
	err := copy(w, doc)
	if errors.As(err, new(*json.SyntaxError)) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Failure{Text: "Unexpected message received"}
	}
	return err
}

// copyYAML is version 1.1, every value with its type before it.
func copyYAML(w io.Writer, r io.Reader) error {
	d := json.NewDecoder(r)
	d.UseNumber()
	io.WriteString(w, "%YAML 1.1\n---")
	y := yamlWriter{w, d}
	if err := y.value(-1, 0); err != nil {
		return err
	}
	_, err := io.WriteString(w, "...\n\n")
	return err
}

type yamlWriter struct {
	w io.Writer
	d *json.Decoder
}

// value writes the next value, behind column bytes, and the end of its line. What it holds is put below
// it, depth levels deep.
func (y yamlWriter) value(depth, column int) error {
	tok, err := y.d.Token()
	if err != nil {
		return err
	}
	switch v := tok.(type) {
	case json.Delim:
		return y.container(v == '{', depth)
	case string:
		return y.scalar("str", yamlText(v, column+len(" !!str "), 2*max(depth, 0)+2))
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return y.scalar("float", v.String())
		}
		return y.scalar("int", v.String())
	case bool:
		return y.scalar("bool", fmt.Sprint(v))
	}
	return y.scalar("null", "null")
}

func (y yamlWriter) scalar(kind, text string) error {
	if text != "" {
		text = " " + text
	}
	_, err := fmt.Fprintf(y.w, " !!%s%s\n", kind, text)
	return err
}

func (y yamlWriter) container(object bool, depth int) error {
	kind, empty := "seq", "[]"
	if object {
		kind, empty = "map", "{}"
	}
	fmt.Fprintf(y.w, " !!%s", kind)
	if !y.d.More() {
		fmt.Fprintf(y.w, " %s\n", empty)
	} else {
		fmt.Fprintln(y.w)
	}
	inner := depth + 1
	if !object && depth >= 0 {
		inner = depth // the dash stands below the key
	}
	for y.d.More() {
		begin := strings.Repeat("  ", inner) + "-"
		if object {
			key, err := y.d.Token()
			if err != nil {
				return err
			}
			begin = fmt.Sprintf("%s!!str %s:", strings.Repeat("  ", inner), key)
		}
		io.WriteString(y.w, begin)
		if err := y.value(inner, len(begin)); err != nil {
			return err
		}
	}
	_, err := y.d.Token() // the end
	return err
}

// copyJSON writes two blanks for each level. It needs no more memory than its buffer, however long the document is.
func copyJSON(w io.Writer, r io.Reader) error {
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
		return io.ErrUnexpectedEOF
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

package squeue

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// writeYAML copies a JSON document as YAML with a type before each value, as slurm's commands write it.
func writeYAML(w io.Writer, r io.Reader) error {
	d := json.NewDecoder(r)
	d.UseNumber()
	fmt.Fprint(w, "%YAML 1.1\n---")
	y := yamlWriter{w, d}
	if err := y.value(-1); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "...\n\n")
	return err
}

type yamlWriter struct {
	w io.Writer
	d *json.Decoder
}

// value writes the next value and the end of its line. What it holds is put below it, depth levels deep.
func (y yamlWriter) value(depth int) error {
	tok, err := y.d.Token()
	if err != nil {
		return err
	}
	switch v := tok.(type) {
	case json.Delim:
		return y.container(v == '{', depth)
	case string:
		return y.scalar("str", yamlText(v))
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
		fmt.Fprint(y.w, strings.Repeat("  ", inner))
		if object {
			key, err := y.d.Token()
			if err != nil {
				return err
			}
			fmt.Fprintf(y.w, "!!str %s:", key)
		} else {
			fmt.Fprint(y.w, "-")
		}
		if err := y.value(inner); err != nil {
			return err
		}
	}
	_, err := y.d.Token() // the end
	return err
}

// yamlText is s as it is where that reads back as the same text, else in quotes.
func yamlText(s string) string {
	if s == "" {
		return s
	}
	quote := strings.ContainsAny(s[:1], "-?:,[]{}#&*!|>'\"%@` ") || strings.HasSuffix(s, " ") || strings.HasSuffix(s, ":") ||
		strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.ContainsAny(s, "\n\t\\\"")
	if !quote {
		return s
	}
	b, _ := json.Marshal(s)
	return string(b)
}

package show

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// YAML writes a JSON document as Slurm's commands write --yaml: version 1.1, every scalar with its tag.
func YAML(doc []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var b bytes.Buffer
	b.WriteString("%YAML 1.1\n---")
	if err := yamlValue(&b, d, 0); err != nil {
		return nil, err
	}
	b.WriteString("...\n\n")
	return b.Bytes(), nil
}

// JSON writes a JSON document with indents of two blanks and a line end.
func JSON(doc []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(doc), "", "  "); err != nil {
		return nil, errors.New("Unexpected message received")
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// yamlValue writes the next value behind its key, with the line end.
func yamlValue(b *bytes.Buffer, d *json.Decoder, depth int) error {
	t, err := d.Token()
	if err != nil {
		return errors.New("Unexpected message received")
	}
	switch v := t.(type) {
	case json.Delim:
		return yamlList(b, d, v, depth)
	case string:
		b.WriteString(" !!str" + yamlText(v, depth))
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			b.WriteString(" !!float " + v.String())
		} else {
			b.WriteString(" !!int " + v.String())
		}
	case bool:
		b.WriteString(map[bool]string{true: " !!bool true", false: " !!bool false"}[v])
	default:
		b.WriteString(" !!null null")
	}
	b.WriteByte('\n')
	return nil
}

// yamlList writes an object or an array. An array's dashes stand under its key, not further in.
func yamlList(b *bytes.Buffer, d *json.Decoder, open json.Delim, depth int) error {
	tag, empty := " !!map", " {}"
	if open == '[' {
		tag, empty = " !!seq", " []"
	}
	b.WriteString(tag)
	if !d.More() {
		b.WriteString(empty)
	}
	b.WriteByte('\n')
	for d.More() {
		if open == '[' {
			b.WriteString(strings.Repeat("  ", max(depth-1, 0)) + "-")
			if err := yamlValue(b, d, max(depth, 1)); err != nil {
				return err
			}
			continue
		}
		key, err := d.Token()
		if err != nil {
			return errors.New("Unexpected message received")
		}
		b.WriteString(strings.Repeat("  ", depth) + "!!str " + key.(string) + ":")
		if err := yamlValue(b, d, depth+1); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil { // the closing bracket
		return errors.New("Unexpected message received")
	}
	return nil
}

// yamlText quotes what would not be read back as it is. A line end within quotes is written twice.
func yamlText(s string, depth int) string {
	if s == "" {
		return ""
	}
	if strings.Trim(s, " ") == s && !strings.ContainsAny(s, "\n\t\"'`") && !strings.Contains(s, ": ") && !strings.Contains(s, " #") &&
		!strings.ContainsAny(s[:1], "-?:,[]{}#&*!|>%@") && !strings.HasSuffix(s, ":") {
		return " " + s
	}
	s = strings.ReplaceAll(s, "'", "''")
	return " '" + strings.ReplaceAll(s, "\n", "\n\n"+strings.Repeat("  ", depth)) + "'"
}

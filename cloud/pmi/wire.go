package pmi

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// message is what a task says, in either protocol.
type message struct {
	name   string // of "cmd=" or "mcmd="
	multi  bool   // "mcmd=": more lines follow, until "endcmd"
	fields [][2]string
}

// get is the value of the first field of a name, "" if there is none.
func (m message) get(name string) string {
	for _, f := range m.fields {
		if f[0] == name {
			return f[1]
		}
	}
	return ""
}

func (m *message) add(field string) {
	name, value, ok := strings.Cut(field, "=")
	switch {
	case !ok:
	case m.name == "" && (name == "cmd" || name == "mcmd"):
		m.name, m.multi = value, name == "mcmd"
	default:
		m.fields = append(m.fields, [2]string{name, value})
	}
}

// parseLine reads a message of PMI-1: words whose values have no blanks.
func parseLine(line string) (m message) {
	for word := range strings.FieldsSeq(line) {
		m.add(word)
	}
	return m
}

// parsePacket reads a message of PMI-2: fields that each end with a semicolon; one within a value
// is written twice.
func parsePacket(text string) (m message) {
	var field strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != ';':
			field.WriteByte(text[i])
		case i+1 < len(text) && text[i+1] == ';':
			field.WriteByte(';')
			i++
		default:
			m.add(field.String())
			field.Reset()
		}
	}
	m.add(field.String()) // the last one may lack its semicolon
	return m
}

// printPacket is a message of PMI-2. Values must not begin with a semicolon, which nobody could
// tell from the end of the field before.
func printPacket(name string, fields []string) string {
	var b strings.Builder
	b.WriteString("cmd=" + name + ";")
	for i := 0; i+1 < len(fields); i += 2 {
		b.WriteString(fields[i] + "=" + strings.ReplaceAll(fields[i+1], ";", ";;") + ";")
	}
	return b.String()
}

// line reads a line.
func (k *client) line() (string, error) {
	var line []byte
	for {
		part, err := k.in.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			return strings.TrimSuffix(string(line), "\n"), nil
		}
		if errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxLine {
			continue
		}
		if len(line) > maxLine {
			return "", fmt.Errorf("a line of task %d is longer than %d bytes", k.rank, maxLine)
		}
		return "", io.EOF // half a line of a task that has ended
	}
}

// sayLine writes a message of PMI-1.
func (k *client) sayLine(name string, fields ...string) error {
	var b strings.Builder
	b.WriteString("cmd=" + name)
	for i := 0; i+1 < len(fields); i += 2 {
		b.WriteString(" " + fields[i] + "=" + fields[i+1])
	}
	b.WriteByte('\n')
	return k.write(b.String())
}

// lengthOf is the size of the length before a message of PMI-2.
const lengthOf = 6

// packet reads a message of PMI-2.
func (k *client) packet() (string, error) {
	var head [lengthOf]byte
	if _, err := io.ReadFull(k.in, head[:]); err != nil {
		return "", io.EOF
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(head[:])))
	if err != nil || n < 0 || n > maxLine {
		return "", fmt.Errorf("invalid pmi2 message of task %d: its length is %q", k.rank, head)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(k.in, text); err != nil {
		return "", io.EOF
	}
	return string(text), nil
}

// sayPacket writes a message of PMI-2.
func (k *client) sayPacket(name string, fields ...string) error {
	text := printPacket(name, fields)
	return k.write(fmt.Sprintf("%-*d%s", lengthOf, len(text), text))
}

// write: a task that does not hear has ended.
func (k *client) write(text string) error {
	if _, err := io.WriteString(k.out, text); err != nil {
		return io.EOF
	}
	return nil
}

// appendPair adds a name and a value to what goes to the other nodes.
func appendPair(b []byte, key, value string) []byte {
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = append(b, key...)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

var errPairs = errors.New("mpi/pmi2: what another node has sent cannot be read")

// eachPair reads what appendPair wrote.
func eachPair(b []byte, f func(key, value string)) error {
	word := func() (string, bool) {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return "", false
		}
		w := string(b[size : size+int(n)])
		b = b[size+int(n):]
		return w, true
	}
	for len(b) > 0 {
		key, ok1 := word()
		value, ok2 := word()
		if !ok1 || !ok2 {
			return errPairs
		}
		f(key, value)
	}
	return nil
}

package show

import (
	"encoding/json"
	"strings"

	"fsub/cmd/internal/conn"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// Caller sends one request to the daemon; *conn.Conn is one.
type Caller interface {
	Do(method, path string, body []byte) (status int, reply []byte, err error)
}

var _ Caller = (*conn.Conn)(nil)

// Failure is a call that did not succeed, in Slurm's words.
type Failure struct {
	Number int // Slurm's error number; 0 if it has none
	Text   string
}

func (f *Failure) Error() string { return f.Text }

// Get reads path and decodes the answer into out, which may be nil. A refusal is a *Failure, of either API.
func Get(c Caller, path string, out any) error { return call(c, "GET", path, nil, out) }

// Post sends in to path and decodes the answer into out.
func Post(c Caller, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return call(c, "POST", path, body, out)
}

func call(c Caller, method, path string, body []byte, out any) error {
	status, reply, err := c.Do(method, path, body)
	if err != nil {
		return &Failure{Text: err.Error()}
	}
	if status >= 400 {
		return refused(c, status, reply)
	}
	if raw, ok := out.(*[]byte); ok {
		*raw = reply
		return nil
	}
	if err := json.Unmarshal(reply, out); err != nil {
		return &Failure{Text: "Unexpected message received"}
	}
	return nil
}

// refused is the failure that an answer tells of. What the daemon says of it beside Slurm's sentence is kept by the connection ([conn.Conn.Explain]): of an outage, and of callers who are
// refused whatever they ask for.
func refused(c any, status int, reply []byte) error {
	f, detail := readRefusal(reply)
	if asks, can := c.(Caller); can && status == 401 && detail == "" { // slurmrestd has no more words for it
		if status, reply, err := asks.Do("GET", "/fed/v1/caller", nil); err == nil && status == 401 {
			said, _ := readRefusal(reply)
			detail = said.Text
		}
	}
	to, can := c.(interface{ Explain(why string) })
	if can && (status == 401 || status == 403 || status >= 500) && detail != f.Text {
		to.Explain(detail)
	}
	return f
}

// readRefusal reads the error of an answer, and what it says beside: slurmrestd's shape, /fed/v1's, or plain text.
func readRefusal(reply []byte) (f *Failure, detail string) {
	var both struct {
		v1.ErrorResponse
		Errors []wire.Error `json:"errors"`
	}
	if json.Unmarshal(reply, &both) == nil {
		if len(both.Errors) > 0 {
			e := &both.Errors[0]
			return &Failure{e.Number, orText(e.Text, e.Description)}, e.Description
		}
		if e := &both.Error; e.Text != "" {
			return &Failure{e.Number, e.Text}, e.Detail
		}
	}
	return &Failure{Number: wire.ErrAuth, Text: orText(strings.TrimSpace(string(reply)), "Unexpected message received")}, ""
}

// Refusal is the failure that an answer with a status of 400 and above tells of.
func Refusal(reply []byte) error {
	f, _ := readRefusal(reply)
	return f
}

func orText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Query builds the query of a path. Values are escaped; empty ones are left out.
type Query struct{ b []byte }

// Add appends name=value unless value is empty.
func (q *Query) Add(name, value string) {
	if value == "" {
		return
	}
	sep := byte('&')
	if len(q.b) == 0 {
		sep = '?'
	}
	q.b = append(append(append(q.b, sep), name...), '=')
	const hex = "0123456789ABCDEF"
	for i := range len(value) {
		switch c := value[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-_.,~", c) >= 0:
			q.b = append(q.b, c)
		default:
			q.b = append(q.b, '%', hex[c>>4], hex[c&15])
		}
	}
}

// String is the query with its question mark, or "".
func (q *Query) String() string { return string(q.b) }

// InvalidUsers are the names that the daemon does not know, from the warnings of an answer.
func InvalidUsers(r *wire.Reply) []string {
	var out []string
	for _, w := range r.Warnings {
		if name, ok := strings.CutPrefix(w.Description, "Invalid user: "); ok {
			out = append(out, name)
		}
	}
	return out
}

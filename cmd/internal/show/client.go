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
		return refusal(reply)
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

// refusal reads the error of an answer: slurmrestd's shape, /fed/v1's, or plain text.
func refusal(reply []byte) error {
	var both struct {
		v1.ErrorResponse
		Errors []wire.Error `json:"errors"`
	}
	if json.Unmarshal(reply, &both) == nil {
		if len(both.Errors) > 0 {
			return &Failure{both.Errors[0].Number, orText(both.Errors[0].Text, both.Errors[0].Description)}
		}
		if both.Error.Text != "" {
			return &Failure{both.Error.Number, both.Error.Text}
		}
	}
	return &Failure{Number: wire.ErrAuth, Text: orText(strings.TrimSpace(string(reply)), "Unexpected message received")}
}

// Refusal is the failure that an answer with a status of 400 and above tells of.
func Refusal(reply []byte) error { return refusal(reply) }

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

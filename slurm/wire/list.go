package wire

import (
	"encoding/json"
	"strings"
)

// List is a slice that is written as [] when it is nil: generated clients do not accept null for a list.
type List[T any] []T

func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// Strings is a list of strings. It reads a single string (split at commas) and null as well.
type Strings []string

func (l Strings) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]string(l))
}

func (l *Strings) UnmarshalJSON(b []byte) error {
	*l = nil
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		if s != "" {
			*l = strings.Split(s, ",")
		}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// Has reports whether the list contains s.
func (l Strings) Has(s string) bool {
	for _, x := range l {
		if x == s {
			return true
		}
	}
	return false
}

// Environment is a list of NAME=value. It reads the object {"NAME":"value"} as well, which older clients send.
type Environment []string

func (e *Environment) UnmarshalJSON(b []byte) error {
	*e = nil
	if len(b) > 0 && b[0] == '{' {
		var m map[string]string
		if err := json.Unmarshal(b, &m); err != nil {
			return err
		}
		for k, v := range m {
			*e = append(*e, k+"="+v)
		}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(e))
}

// Text is a string that some version writes as a number: job IDs in /jobs/state/, user_id in a submission.
type Text string

func (t *Text) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*t = ""
		return nil
	}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	*t = Text(b)
	return nil
}

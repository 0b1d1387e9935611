package model

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Refusal is what Amazon says to a request that is not well-formed.
type Refusal struct{ Code, Text string }

func (r *Refusal) Error() string { return r.Code + ": " + r.Text }

// node is a form's parameters as a tree: "Placement.GroupName=x" is the node Placement with the child GroupName.
type node struct {
	value    string
	has      bool
	children map[string]*node
}

// Decode reads the parameters of a request. The error is a *Refusal.
func (o *Op) Decode(form url.Values) (Doc, error) {
	root := &node{}
	for key, values := range form {
		if key == "Action" || key == "Version" {
			continue
		}
		n := root
		for _, part := range strings.Split(key, ".") {
			if n.children == nil {
				n.children = map[string]*node{}
			}
			if n.children[part] == nil {
				n.children[part] = &node{}
			}
			n = n.children[part]
		}
		n.value, n.has = values[0], true
	}
	if o.in == nil {
		return Doc{}, nil
	}
	return decodeStruct(root, o.in, "")
}

func decodeStruct(n *node, s *shape, path string) (Doc, error) {
	out := Doc{}
	if n.has && n.value != "" {
		return nil, &Refusal{"InvalidParameterValue", fmt.Sprintf("%s is a structure, not a value", path)}
	}
	for _, key := range keys(n.children) {
		m := s.byIn[key]
		if m == nil {
			return nil, &Refusal{"UnknownParameter", fmt.Sprintf("The parameter %s is not recognized", join(path, key))}
		}
		v, err := decode(n.children[key], m.shape, join(path, key))
		if err != nil {
			return nil, err
		}
		if v != nil {
			out[m.name] = v
		}
	}
	for _, m := range s.members {
		if _, ok := out[m.name]; m.required && !ok {
			return nil, &Refusal{"MissingParameter", fmt.Sprintf("The request must contain the parameter %s", join(path, m.in))}
		}
	}
	return out, nil
}

// decode reads one value; nil stands for an empty list.
func decode(n *node, s *shape, path string) (any, error) {
	switch s.kind {
	case "structure":
		return decodeStruct(n, s, path)
	case "list":
		return decodeList(n, s, path)
	}
	if len(n.children) > 0 {
		return nil, &Refusal{"UnknownParameter", fmt.Sprintf("The parameter %s is not recognized", join(path, keys(n.children)[0]))}
	}
	return decodeScalar(n.value, s, path)
}

func decodeList(n *node, s *shape, path string) (any, error) {
	if len(n.children) == 0 {
		return nil, nil
	}
	index := map[int]*node{}
	for key, child := range n.children {
		i, err := strconv.Atoi(key)
		if err != nil || i < 1 {
			return nil, &Refusal{"UnknownParameter", fmt.Sprintf("The parameter %s is not recognized", join(path, key))}
		}
		index[i] = child
	}
	if s.max != nil && len(index) > *s.max {
		return nil, &Refusal{"InvalidParameterValue", fmt.Sprintf("%s has %d values, at most %d are allowed", path, len(index), *s.max)}
	}
	order := make([]int, 0, len(index))
	for i := range index {
		order = append(order, i)
	}
	slices.Sort(order)
	var out []any
	for _, i := range order {
		v, err := decode(index[i], s.elem, fmt.Sprintf("%s.%d", path, i))
		if err != nil && s.elem.name == "InstanceType" {
			return nil, &Refusal{"InvalidInstanceType", fmt.Sprintf("The following supplied instance types do not exist: [%s]", index[i].value)}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func decodeScalar(value string, s *shape, path string) (any, error) {
	bad := &Refusal{"InvalidParameterValue", fmt.Sprintf("Invalid value '%s' for %s.", value, path)}
	switch s.kind {
	case "integer", "long":
		i, err := strconv.Atoi(value)
		if err != nil || s.min != nil && i < *s.min || s.max != nil && i > *s.max {
			return nil, bad
		}
		return i, nil
	case "boolean":
		if value != "true" && value != "false" {
			return nil, bad
		}
		return value == "true", nil
	case "double":
		f, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, bad
		}
		return f, nil
	case "timestamp":
		t, err := time.Parse(time.RFC3339Nano, value)
		if err != nil {
			return nil, bad
		}
		return t.UTC(), nil
	}
	if s.enum != nil && !s.enum[value] || s.min != nil && len(value) < *s.min || s.max != nil && len(value) > *s.max {
		return nil, bad
	}
	return value, nil
}

func keys(m map[string]*node) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

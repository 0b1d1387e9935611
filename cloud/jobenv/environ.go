package jobenv

import "strings"

// environ is an environment in the making, each name in it once.
type environ struct {
	vars  []string
	index map[string]int
}

// newEnviron begins with env, the first of each name; entries that are not NAME=value are left out.
func newEnviron(env []string, room int) *environ {
	e := &environ{make([]string, 0, len(env)+room), make(map[string]int, len(env)+room)}
	for _, v := range env {
		if name, value, ok := strings.Cut(v, "="); ok && name != "" {
			e.keep(name, value)
		}
	}
	return e
}

func (e *environ) get(name string) (string, bool) {
	if i, ok := e.index[name]; ok {
		return e.vars[i][len(name)+1:], true
	}
	return "", false
}

func (e *environ) set(name, value string) {
	if i, ok := e.index[name]; ok {
		e.vars[i] = name + "=" + value
		return
	}
	e.index[name] = len(e.vars)
	e.vars = append(e.vars, name+"="+value)
}

// keep sets what is not set yet.
func (e *environ) keep(name, value string) {
	if _, ok := e.index[name]; !ok {
		e.set(name, value)
	}
}

func (e *environ) drop(names ...string) {
	for _, name := range names {
		i, ok := e.index[name]
		if !ok {
			continue
		}
		last := len(e.vars) - 1
		moved, _, _ := strings.Cut(e.vars[last], "=")
		e.vars[i] = e.vars[last]
		e.index[moved] = i
		e.vars = e.vars[:last]
		delete(e.index, name)
	}
}

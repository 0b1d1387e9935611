package depend

import (
	"slices"
	"strings"
)

// MaxName bounds the name of a job within a batch, in bytes.
const MaxName = 128

// InvalidName says why a job of a batch cannot have a name; "": it can. Others of the batch name it as @NAME where --dependency takes the number of a job.
func InvalidName(name string) (why string) {
	letter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
	ok := name != "" && len(name) <= MaxName && letter(name[0])
	for i := 0; ok && i < len(name); i++ {
		ok = letter(name[i]) || strings.IndexByte("._=/-", name[i]) >= 0
	}
	if ok {
		return ""
	}
	return "want 1 to 128 letters, digits and . _ = / -, the first a letter or a digit"
}

// Names are the names of jobs in a --dependency, in its order: of "afterok:@prep:@x,after:30000001" they are prep and x. The task of an array is a part of the name: see Task.
func Names(s string) (names []string) {
	rewrite(s, func(name string) string {
		names = append(names, name)
		return ""
	})
	return names
}

// Named is s with what of says in place of each @NAME.
func Named(s string, of func(name string) string) string { return rewrite(s, of) }

// Task splits a name that no job has into that of an array and a task of it: "sweep_7", "sweep_*".
func Task(name string) (array, task string, ok bool) {
	i := strings.LastIndexByte(name, '_')
	if i <= 0 {
		return "", "", false
	}
	task = name[i+1:]
	digits := task != "" && !strings.ContainsFunc(task, func(r rune) bool { return r < '0' || r > '9' })
	return name[:i], task, digits || task == "*"
}

// rewrite replaces the names in a --dependency. One begins after a sign that ends the word before it, and ends before the next such sign.
func rewrite(s string, of func(string) string) string {
	const ends = ":,?+"
	if !strings.Contains(s, "@") {
		return s
	}
	var b strings.Builder
	for s != "" {
		word := s
		if i := strings.IndexAny(s, ends); i >= 0 {
			word = s[:i]
		}
		if name, is := strings.CutPrefix(word, "@"); is {
			b.WriteString(of(name))
		} else {
			b.WriteString(word)
		}
		if s = s[len(word):]; s != "" {
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	return b.String()
}

// Order puts n jobs, of which each names others by their place, into an order in which each comes after those that it names, and otherwise as they are. Where some name
// each other in a ring, there is no such order: ring has them then, each the one before that it names.
func Order(n int, named func(i int) []int) (order, ring []int) {
	const untouched, open, done = 0, 1, 2
	state := make([]byte, n)
	type visit struct{ at, next int }
	var path []visit
	order = make([]int, 0, n)
	for first := range n {
		if state[first] != untouched {
			continue
		}
		state[first], path = open, append(path, visit{at: first})
		for len(path) > 0 {
			v := &path[len(path)-1]
			others := named(v.at)
			if v.next == len(others) {
				state[v.at], order, path = done, append(order, v.at), path[:len(path)-1]
				continue
			}
			other := others[v.next]
			v.next++
			switch state[other] {
			case untouched:
				state[other], path = open, append(path, visit{at: other})
			case open:
				from := slices.IndexFunc(path, func(v visit) bool { return v.at == other })
				for _, v := range path[from:] {
					ring = append(ring, v.at)
				}
				return nil, ring
			}
		}
	}
	return order, nil
}

package sbatch

import (
	"strconv"
	"strings"
)

// MaxGroup bounds the name of a group, in bytes.
const MaxGroup = 128

// GroupVariable is the variable that names the group of what is submitted with it in the environment. A job in a group has it, so that what the job submits is in
// that group, too.
const GroupVariable = "FSUB_GROUP"

// NoGroup stands for jobs without a group where jobs are chosen. No group has that name.
const NoGroup = "none"

// InvalidGroup says why a name is not a group's; "": it is. A group is told by its name alone: whoever submits with a name puts a job into that group. A slash
// makes a group within another: "sweep/lr" is in "sweep".
func InvalidGroup(name string) (why string) {
	const rule = "want 1 to 128 letters, digits and . _ + : @ / -, the first and the last a letter or a digit, such as sweep-7 or sweep/lr-3, got "
	letter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
	switch {
	case name == NoGroup:
		return `"none" stands for jobs without a group`
	case name == "" || len(name) > MaxGroup || !letter(name[0]) || !letter(name[len(name)-1]) || strings.Contains(name, "//"):
		return rule + strconv.Quote(shortened(name))
	}
	for i := range len(name) {
		if !letter(name[i]) && !strings.Contains("._+:@/-", name[i:i+1]) {
			return rule + strconv.Quote(shortened(name))
		}
	}
	return ""
}

func shortened(name string) string {
	if len(name) > MaxGroup {
		return strings.ToValidUTF8(name[:MaxGroup], "") + "..."
	}
	return name
}

func setGroup(f *Fed, v string) (why string) {
	f.Group, why = v, InvalidGroup(v)
	return why
}

// GroupName is the group of the job; "": it has none.
func (s *Spec) GroupName() string {
	if s == nil || s.Fed == nil {
		return ""
	}
	return s.Fed.Group
}

// Groups are a group and those that it is within, from the inside: "a/b" and "a". Of a job without a group it is NoGroup.
func Groups(name string) []string {
	if name == "" {
		return []string{NoGroup}
	}
	all := []string{name}
	for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name, '/') {
		name = name[:i]
		all = append(all, name)
	}
	return all
}

package sbatch

import (
	"strconv"
	"strings"
)

// FileVars are what the letters of a file name pattern stand for.
type FileVars struct {
	Job      uint32 // %j, %J, and %A outside of arrays
	ArrayJob uint32 // %A; 0: no array's task
	Task     int    // %a, and %b its last digit; negative: none, though ArrayJob is set
	JobName  string // %x
	User     string // %u
	Node     string // %N: short host name
	NodeID   int    // %n
	Step     string // %s, and the second half of %J for a step of srun; "" and "batch": the batch script
	Rank     int    // %t
	Dir      string // what a relative name is relative to
}

// maxWidth is the widest that Slurm makes a number.
const maxWidth = 10

// noTask is the number that stands for the task of a job that is none.
const noTask = 4294967294

// FileName expands a pattern of --output, --error or --input as slurmd does, and makes it absolute.
// "%5j" is a number of at least five digits. A backslash anywhere turns expansion off, and is removed.
func FileName(pattern string, n FileVars) string {
	name := pattern
	switch {
	case pattern == "none":
		return "/dev/null"
	case strings.Contains(pattern, `\`):
		name = strings.ReplaceAll(pattern, `\`, "")
	case strings.Contains(pattern, "%"):
		name = n.expand(pattern)
	}
	if strings.HasPrefix(name, "/") || n.Dir == "" {
		return name
	}
	return strings.TrimSuffix(n.Dir, "/") + "/" + name // not cleaned: Slurm does not either
}

func (n *FileVars) expand(pattern string) string {
	b := make([]byte, 0, len(pattern)+32)
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			b = append(b, pattern[i])
			continue
		}
		end := i + 1
		for end < len(pattern) && pattern[end] >= '0' && pattern[end] <= '9' {
			end++
		}
		width := pattern[i+1 : end]
		switch {
		case end == len(pattern) && width == "":
			return string(append(b, '%'))
		case end == len(pattern): // of a width without a letter, and below of one with a letter that has none, only the sign goes
			return string(append(b, width...))
		case pattern[end] == '%' && width == "":
			b = append(b, '%')
		default:
			if text, ok := n.letter(pattern[end], width); ok {
				b = append(b, text...)
			} else if width == "" {
				b = append(b, '%', pattern[end])
			} else {
				b = append(append(b, width...), pattern[end])
			}
		}
		i = end
	}
	return string(b)
}

// letter is what a letter of a pattern stands for. Only numbers have a width.
func (n *FileVars) letter(c byte, width string) (string, bool) {
	task, array := uint64(noTask), uint64(n.Job)
	if n.ArrayJob != 0 {
		array = uint64(n.ArrayJob)
	}
	if n.ArrayJob != 0 && n.Task >= 0 {
		task = uint64(n.Task)
	}
	switch c {
	case 'A':
		return padded(array, width), true
	case 'a':
		return padded(task, width), true
	case 'b':
		return padded(task%10, width), true
	case 'J':
		id := padded(uint64(n.Job), width)
		if !n.batch() {
			id += "." + n.Step
		}
		return id, true
	case 'j':
		return padded(uint64(n.Job), width), true
	case 'N':
		host, _, _ := strings.Cut(n.Node, ".")
		return host, true
	case 'n':
		return padded(uint64(n.NodeID), width), true
	case 's':
		if n.batch() {
			return "batch", true
		}
		if id, err := strconv.ParseUint(n.Step, 10, 32); err == nil {
			return padded(id, width), true
		}
		return n.Step, true
	case 't':
		return padded(uint64(n.Rank), width), true
	case 'u':
		return n.User, true
	case 'x':
		return n.JobName, true
	}
	return "", false
}

func (n *FileVars) batch() bool { return n.Step == "" || n.Step == "batch" }

// padded writes a number with zeros before it.
func padded(v uint64, width string) string {
	s := strconv.FormatUint(v, 10)
	w, err := strconv.Atoi("0" + width)
	if err != nil || w > maxWidth {
		w = maxWidth
	}
	return strings.Repeat("0", max(0, w-len(s))) + s
}

package sbatch

import "strings"

// Understood is how a call of sbatch is read, without a verdict that needs a controller.
type Understood struct {
	// Components are the options of each component of the job that were given, by long name, in
	// sbatch's canonical form: what sbatch -v lists. What only says how sbatch is to go about it
	// (-v, -Q, --test-only) is left out.
	Components []map[string]string
	Notices    []string // lines for stderr that fail nothing, those of -v included
	Late       []int    // lines of the script, from 1, that would be directives if they stood before its first command: sbatch takes no notice of them
}

// Understand reads one call as the sbatch of in.Slurm does, options that fsub does not carry
// included. Any error is an *Exit; what was understood before it is returned too, as sbatch -v lists it.
func Understand(in Input) (*Understood, error) {
	p := newParser(&in)
	p.notices.explain = true
	err := p.run()
	for _, given := range p.understood {
		for _, name := range [...]string{"verbose", "quiet", "test-only"} {
			delete(given, name)
		}
	}
	return &Understood{p.understood, p.notices.lines, lateDirectives(p.req.Payload.Script)}, err
}

// lateDirectives are the lines of a script that look like directives and stand after its first command. Those of here-documents count, too.
func lateDirectives(script string) (lines []int) {
	n, command := 0, false
	for line := range strings.Lines(script) {
		n++
		switch text := strings.TrimSpace(line); {
		case command && strings.HasPrefix(line, "#SBATCH"):
			lines = append(lines, n)
		case text != "" && text[0] != '#':
			command = true
		}
	}
	return lines
}

package slurm

import (
	"fmt"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/sbatch"
)

// numbers of file name patterns are those of the federation. What a site would put there is another number where it gives its own, or where
// the job is a part of an array.
type patternNumbers map[byte]uint64

// rewrite puts numbers for their letters: "out-%5j" with j=17 is "out-00017". All else stays for the site to expand. A pattern with
// a backslash is expanded by nobody.
func (p patternNumbers) rewrite(pattern string) string {
	if strings.Contains(pattern, `\`) {
		return pattern
	}
	var b strings.Builder
	for i := 0; i < len(pattern); {
		if pattern[i] != '%' {
			b.WriteByte(pattern[i])
			i++
			continue
		}
		end := i + 1
		for end < len(pattern) && pattern[end] >= '0' && pattern[end] <= '9' {
			end++
		}
		if end == len(pattern) {
			b.WriteString(pattern[i:])
			break
		}
		n, ours := p[pattern[end]]
		if width, err := strconv.Atoi("0" + pattern[i+1:end]); ours && err == nil {
			fmt.Fprintf(&b, "%0*d", min(width, maxWidth), n)
		} else {
			b.WriteString(pattern[i : end+1])
		}
		i = end + 1
	}
	return b.String()
}

// maxWidth is the widest that Slurm makes a number.
const maxWidth = 10

// files rewrites the patterns of a submission, whose job is a copy. output is the default.
func (p patternNumbers) files(j *federation.Job, output string) {
	j.EditSpec(func(sp *sbatch.Spec) {
		if sp.Output == "" {
			sp.Output = output
		}
		for _, f := range []*string{&sp.Input, &sp.Output, &sp.Error} {
			*f = p.rewrite(*f)
		}
	})
}

// defaultOutput is where sbatch puts the output that nobody asked for elsewhere.
const (
	defaultOutput      = "slurm-%j.out"
	defaultArrayOutput = "slurm-%A_%a.out"
)

// withEnvironment adds variables to a submission's, over those of the same name.
func withEnvironment(s *federation.Submission, vars ...string) {
	own := map[string]bool{}
	for _, v := range vars {
		name, _, _ := strings.Cut(v, "=")
		own[name] = true
	}
	env := make([]string, 0, len(s.Payload.Environment)+len(vars))
	for _, v := range s.Payload.Environment {
		if name, _, _ := strings.Cut(v, "="); !own[name] {
			env = append(env, v)
		}
	}
	s.Payload.Environment = append(env, vars...)
}

package sbatch

import (
	"slices"
	"strings"

	"fsub/sbatch/getopt"
)

// lookup is the value of a variable; the first one counts, as for getenv.
func lookup(env []string, name string) (string, bool) {
	for _, e := range env {
		if len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name {
			return e[len(name)+1:], true
		}
	}
	return "", false
}

// environment applies the SBATCH_* variables, which overrule the script. Most environments have
// none, so they are looked for first.
func (p *parser) environment() error {
	var vars, fed []string
	for _, e := range p.in.Env {
		if strings.HasPrefix(e, "SBATCH_") || strings.HasPrefix(e, "SLURM_HINT=") || strings.HasPrefix(e, "SLURM_CLUSTERS=") {
			vars = append(vars, e)
		} else if strings.HasPrefix(e, "FSUB_") {
			fed = append(fed, e)
		}
	}
	if fed != nil {
		if err := p.req.Spec.fedEnvironment(fed); err != nil {
			return err
		}
	}
	if vars == nil {
		return nil
	}
	for id := range options {
		if !options[id].in(p.release) {
			continue
		}
		for names := options[id].env; names != ""; {
			var name string
			name, names, _ = strings.Cut(names, " ")
			if v, ok := lookup(vars, name); ok {
				if err := p.variable(id, v); err != nil {
					return err
				}
			}
		}
	}
	if v, ok := lookup(vars, "SBATCH_WAIT4SWITCH"); ok {
		p.req.Spec.setSwitchesWait(v)
	}
	return nil
}

// variable applies one variable. For a flag it may also turn off what the script has set.
func (p *parser) variable(id int, v string) error {
	o := &options[id]
	if o.arg == getopt.NoArg && !isYes(v) {
		p.given.drop(id)
		switch o.name {
		case "requeue", "no-requeue":
			p.req.Spec.Requeue = nil
		case "wait":
			p.req.Wait = false
		default:
			if f, ok := p.more().field(o.name).(*bool); ok {
				*f = false
			}
		}
		return nil
	}
	if o.arg == getopt.NoArg || o.name == "requeue" && isYes(v) {
		v = ""
	}
	if o.name == "switches" && strings.Contains(v, "@") { // the wait has a variable of its own
		_, err := p.release.count("--switches", v, 1)
		return err
	}
	return p.give(id, v, fromEnv)
}

// isYes is how sbatch reads a flag in the environment: empty, "yes" or a number other than 0.
func isYes(v string) bool {
	n, rest, ok := number(v)
	return v == "" || strings.EqualFold(v, "yes") || ok && rest == "" && n != 0
}

// earlyEnvironment applies the variables that count before the script is read.
func (p *parser) earlyEnvironment() {
	if v, ok := lookup(p.in.Env, "SBATCH_IGNORE_PBS"); ok && isYes(v) {
		p.ignorePBS = true
	}
	if v, ok := lookup(p.in.Env, "SBATCH_DEBUG"); ok && p.notices.verbose == 0 {
		n, _, _ := number(v)
		p.notices.verbose = int(max(n, 0))
		p.given.mark(slices.IndexFunc(options[:], func(o option) bool { return o.name == "verbose" }), fromEnv)
	}
}

func (p *parser) readExitError() {
	v, ok := lookup(p.in.Env, "SLURM_EXIT_ERROR")
	if !ok {
		return
	}
	if n, _, _ := number(v); n != 0 {
		p.exitError = int(n) & 255
		return
	}
	p.notices.warn("sbatch: error: SLURM_EXIT_ERROR has zero value")
}

package sbatch

import (
	"reflect"
	"slices"

	"fsub/sbatch/getopt"
)

// maxComponents bounds a heterogeneous job: Slurm takes no more.
const maxComponents = 128

// components reads a job of one or more components. The parts of the command line between words ":"
// and those of the script between lines "#SBATCH hetjob" count from the same first component; the
// last part of the command line counts for all that the script has beyond it. The environment and
// #PBS lines count for each.
func (p *parser) components(found [][]getopt.Found, script []byte, file string) error {
	lines := scanner{script: script, file: file, release: p.release, notices: &p.notices}
	var all []Spec
	for n := 0; ; n++ {
		more, err := p.component(found[min(n, len(found)-1)], &lines)
		if err != nil {
			return err
		}
		all = append(all, p.req.Spec)
		if !more && n >= len(found)-1 {
			break
		}
		if n == maxComponents-1 {
			return errorLine(exitFatal, "Invalid heterogeneous job: it has more than 128 components")
		}
		p.inherit()
	}
	fed := p.req.Spec.Fed // of the whole job
	for i := range all {
		all[i].Fed = nil
	}
	p.req.Spec = all[0]
	if p.req.Spec.Fed = fed; len(all) > 1 {
		p.req.Spec.Het = all[1:]
	}
	return nil
}

// component reads the next component and checks it; more says that the script has another one.
func (p *parser) component(found []getopt.Found, lines *scanner) (more bool, err error) {
	if p.wrap == nil {
		if more, err = p.directives(lines); err != nil {
			return false, err
		}
	}
	if err := p.environment(); err != nil {
		return false, err
	}
	if err := p.apply(found, fromArgs); err != nil {
		return false, err
	}
	if p.parseOnly {
		p.understood = append(p.understood, p.defined())
		return more, nil
	}
	if err := p.verify(); err != nil {
		return false, err
	}
	if p.notices.explain || p.notices.verbose > 0 {
		defined := p.defined()
		p.understood = append(p.understood, defined)
		p.notices.sayDefined(defined)
	}
	return more, p.verifyLate()
}

// A component does not take over from the one before it what it runs on: options that matter to placement, but for those in inherited, and those in
// also. Found by trying sbatch 22.05, 24.11 and 26.05, which agree.
var (
	inherited = []string{"array", "cluster", "clusters", "exclude", "hint", "mem", "prefer", "qos", "reservation", "time", "time-min"}
	also      = []string{"bb", "bbf", "consolidate-segments", "cpu-freq", "gpu-bind", "gpu-freq", "mail-type", "mail-user", "mem-bind",
		"network", "resources", "resv-ports", "spread-segments", "tres-bind"}
)

func (o *option) ofComponent() bool {
	return slices.Contains(also, o.name) || o.to == placement && !slices.Contains(inherited, o.name)
}

// inherit begins another component with what it takes over from this one.
func (p *parser) inherit() {
	s := &p.req.Spec
	if s.More != nil {
		s.More = new(*s.More)
	}
	for i := range options {
		o := &options[i]
		if !o.ofComponent() {
			continue
		}
		p.given.drop(i)
		delete(p.shown, o.name)
		if i, ok := specFields()[o.name]; ok {
			reflect.ValueOf(s).Elem().Field(i).SetZero()
		}
		if i, ok := moreFields()[o.name]; ok && s.More != nil {
			reflect.ValueOf(s.More).Elem().Field(i).SetZero()
		}
	}
	p.own = own{}
	s.MinNodes, s.MaxNodes, s.SwitchesWait = 0, 0, 0
	if s.More != nil {
		s.More.NoCoreSpec = false
	}
	s.Het, s.Digest, s.SubmitLine = nil, "", ""
}

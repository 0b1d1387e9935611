package sbatch

import (
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

// ofComponent are the options that a component does not take over from the one before it: what it
// runs on. Found by trying sbatch 22.05, 24.11 and 26.05, which agree.
var ofComponent = [...]string{"bb", "bbf", "consolidate-segments", "constraint", "contiguous", "core-spec", "cores-per-socket", "cpu-freq",
	"cpus-per-gpu", "cpus-per-task", "distribution", "exclusive", "extra-node-info", "gpu-bind", "gpu-freq", "gpus", "gpus-per-node",
	"gpus-per-socket", "gpus-per-task", "gres", "gres-flags", "licenses", "mail-type", "mail-user", "mem-bind", "mem-per-cpu",
	"mem-per-gpu", "mincpus", "network", "nodefile", "nodelist", "nodes", "ntasks", "ntasks-per-core", "ntasks-per-gpu",
	"ntasks-per-node", "ntasks-per-socket", "ntasks-per-tres", "overcommit", "oversubscribe", "partition", "resources", "resv-ports",
	"segment", "sockets-per-node", "spread-job", "spread-segments", "switches", "tasks-per-node", "thread-spec", "threads-per-core",
	"tmp", "tres-bind", "tres-per-task", "use-min-nodes"}

// inherit begins another component with what it takes over from this one.
func (p *parser) inherit() {
	for i := range options {
		if slices.Contains(ofComponent[:], options[i].name) {
			p.given.drop(i)
			delete(p.shown, options[i].name)
		}
	}
	p.own = own{}
	s := &p.req.Spec
	old := *s
	*s = Spec{
		Name: old.Name, Account: old.Account, QOS: old.QOS, Reservation: old.Reservation, Comment: old.Comment,
		Array: old.Array, Dependency: old.Dependency, MemPerNode: old.MemPerNode, Exclude: old.Exclude,
		TimeLimit: old.TimeLimit, TimeMin: old.TimeMin, Begin: old.Begin, Deadline: old.Deadline,
		Hold: old.Hold, Nice: old.Nice, Requeue: old.Requeue,
		WorkDir: old.WorkDir, Input: old.Input, Output: old.Output, Error: old.Error, OpenMode: old.OpenMode,
		Signal: old.Signal, Clusters: old.Clusters, Fed: old.Fed, Plugin: old.Plugin, Command: old.Command,
	}
	if m := old.More; m != nil {
		s.More = &More{
			Hint: m.Hint, Prefer: m.Prefer, Batch: m.Batch, NoKill: m.NoKill, KillOnInvalidDep: m.KillOnInvalidDep,
			WaitAllNodes: m.WaitAllNodes, OOMKillStep: m.OOMKillStep, StepManager: m.StepManager, Priority: m.Priority,
			DelayBoot: m.DelayBoot, WCKey: m.WCKey, Extra: m.Extra, MCSLabel: m.MCSLabel, Context: m.Context,
			Profile: m.Profile, AcctgFreq: m.AcctgFreq, Container: m.Container, ContainerID: m.ContainerID,
			Reboot: m.Reboot, ClusterConstraint: m.ClusterConstraint,
		}
	}
}

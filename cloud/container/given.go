package container

import "strings"

// boolOptions are the options that variables of pyxis say yes or no to.
var boolOptions = map[string][2]string{ // by the variable: the options for yes and for no
	"PYXIS_CONTAINER_MOUNT_HOME":     {"container-mount-home", "no-container-mount-home"},
	"PYXIS_CONTAINER_REMAP_ROOT":     {"container-remap-root", "no-container-remap-root"},
	"PYXIS_CONTAINER_ENTRYPOINT":     {"container-entrypoint", "no-container-entrypoint"},
	"PYXIS_CONTAINER_ENTRYPOINT_LOG": {"container-entrypoint-log", ""},
	"PYXIS_CONTAINER_WRITABLE":       {"container-writable", "container-readonly"},
	"PYXIS_CONTAINER_READONLY":       {"container-readonly", "container-writable"},
}

// Variable is how sbatch leaves an option in a job's environment: for the batch script under this
// name, for its steps under [StepVariable].
func Variable(option string) string {
	return "_SLURM_SPANK_OPTION_" + Plugin + "_" + strings.ReplaceAll(option, "-", "_")
}

// StepVariable is the name of an option in the environment that srun finds.
func StepVariable(option string) string { return "SLURM_SPANK_" + Variable(option) }

// Given are the options that variables name, by the function that makes an option's name a
// variable's: [Variable] or [StepVariable]; then those of PYXIS_CONTAINER_... for what is not given yet.
func Given(lookup func(string) (string, bool), variable func(string) string) (*Options, error) {
	o := &Options{}
	for _, opt := range List {
		v, ok := lookup(variable(opt.Name))
		if !ok {
			continue
		}
		if opt.Takes == Nothing {
			v = ""
		}
		if err := o.Set(opt.Name, v); err != nil {
			return nil, err
		}
	}
	more, err := ofPyxis(lookup)
	if err != nil {
		return nil, err
	}
	return o.Or(more), nil
}

func ofPyxis(lookup func(string) (string, bool)) (*Options, error) {
	o := &Options{}
	for _, opt := range List {
		v, ok := lookup("PYXIS_" + strings.ToUpper(strings.ReplaceAll(opt.Name, "-", "_")))
		if opt.Takes == Nothing || !ok || v == "" {
			continue
		}
		if err := o.Set(opt.Name, v); err != nil {
			return nil, err
		}
	}
	for name, words := range boolOptions {
		v, _ := lookup(name)
		word := words[1]
		switch strings.ToLower(v) {
		case "1", "true", "yes", "y":
			word = words[0]
		case "0", "false", "no", "n":
		default:
			continue
		}
		if word == "" {
			continue
		}
		if err := o.Set(word, ""); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// Or is o, with what other says of all that o says nothing of.
func (o *Options) Or(other *Options) *Options {
	r := *o
	text := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	choice := func(p *Choice, v Choice) {
		if *p == Unset {
			*p = v
		}
	}
	text(&r.Image, other.Image)
	text(&r.Workdir, other.Workdir)
	text(&r.Save, other.Save)
	if r.Name == "" {
		r.Name, r.Reuse = other.Name, other.Reuse
	}
	if r.Mounts == nil {
		r.Mounts = other.Mounts
	}
	if r.Env == nil {
		r.Env = other.Env
	}
	if r.Unshare == nil {
		r.Unshare = other.Unshare
	}
	choice(&r.MountHome, other.MountHome)
	choice(&r.RemapRoot, other.RemapRoot)
	choice(&r.Entrypoint, other.Entrypoint)
	choice(&r.EntrypointLog, other.EntrypointLog)
	choice(&r.Writable, other.Writable)
	return &r
}

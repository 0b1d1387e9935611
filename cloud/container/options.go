package container

import (
	"fmt"
	"slices"
	"strings"
)

// Plugin is the name by which the options reach a job at Slurm sites.
const Plugin = "pyxis"

// Takes says whether an option has a value.
type Takes string

const (
	Value   Takes = "required"
	Nothing Takes = "none"
)

// Option is one that pyxis adds to sbatch and srun.
type Option struct {
	Name  string // without dashes
	Takes Takes
}

// List are all of them.
var List = []Option{
	{"container-image", Value}, {"container-mounts", Value}, {"container-workdir", Value}, {"container-name", Value}, {"container-save", Value},
	{"container-mount-home", Nothing}, {"no-container-mount-home", Nothing},
	{"container-remap-root", Nothing}, {"no-container-remap-root", Nothing},
	{"container-entrypoint", Nothing}, {"no-container-entrypoint", Nothing}, {"container-entrypoint-log", Nothing},
	{"container-writable", Nothing}, {"container-readonly", Nothing},
	{"container-env", Value}, {"container-unshare", Value},
}

// Choice is a yes or a no, or neither.
type Choice int8

const (
	Unset Choice = 0
	Yes   Choice = 1
	No    Choice = -1
)

// Options are the container options of a job or a step. The zero value means no container.
type Options struct {
	Image         string   `json:"image,omitempty"`
	Mounts        []Mount  `json:"mounts,omitempty"`
	Workdir       string   `json:"workdir,omitempty"`
	Name          string   `json:"name,omitempty"`  // of a container that later steps of the job find again
	Reuse         string   `json:"reuse,omitempty"` // with a Name: auto, create, exec (join one that runs), no_exec
	Save          string   `json:"save,omitempty"`  // the squashfs file that it is written to at the end
	MountHome     Choice   `json:"mount_home,omitempty"`
	RemapRoot     Choice   `json:"remap_root,omitempty"`
	Entrypoint    Choice   `json:"entrypoint,omitempty"`
	EntrypointLog Choice   `json:"entrypoint_log,omitempty"`
	Writable      Choice   `json:"writable,omitempty"`
	Env           []string `json:"env,omitempty"`     // names of variables that the job's value holds of, not the image's
	Unshare       []string `json:"unshare,omitempty"` // net, ipc, uts
}

// Asked reports whether a container was asked for.
func (o *Options) Asked() bool { return o != nil && (o.Image != "" || o.Name != "") }

// Ignored names the options that say something of a container where there is none.
func (o *Options) Ignored() (names []string) {
	if o.Asked() {
		return nil
	}
	for _, x := range [...]struct {
		name string
		set  bool
	}{{"container-mounts", o.Mounts != nil}, {"container-workdir", o.Workdir != ""}, {"container-save", o.Save != ""}, {"[no-]container-mount-home", o.MountHome != Unset},
		{"[no-]container-remap-root", o.RemapRoot != Unset}, {"[no-]container-entrypoint", o.Entrypoint != Unset}, {"container-entrypoint-log", o.EntrypointLog != Unset},
		{"container-readonly", o.Writable == No}, {"container-writable", o.Writable == Yes}} {
		if x.set {
			names = append(names, x.name)
		}
	}
	return names
}

// Set takes over one option, by its long name. The error's text is pyxis', without its name.
func (o *Options) Set(option, value string) error {
	if value == "" && slices.Contains(List, Option{option, Value}) {
		return fmt.Errorf("--%s: argument required", option)
	}
	switch option {
	case "container-image":
		return once(&o.Image, option, value)
	case "container-mounts":
		return o.addMounts(value)
	case "container-workdir":
		return once(&o.Workdir, option, value)
	case "container-name":
		return o.setName(value)
	case "container-save":
		if strings.HasSuffix(value, "/") {
			return fmt.Errorf("--%s: target is a directory", option)
		}
		return once(&o.Save, option, value)
	case "container-mount-home", "no-container-mount-home":
		return choose(&o.MountHome, option == "container-mount-home", "--container-mount-home and --no-container-mount-home")
	case "container-remap-root", "no-container-remap-root":
		return choose(&o.RemapRoot, option == "container-remap-root", "--container-remap-root and --no-container-remap-root")
	case "container-entrypoint", "no-container-entrypoint":
		return choose(&o.Entrypoint, option == "container-entrypoint", "--container-entrypoint and --no-container-entrypoint")
	case "container-entrypoint-log":
		o.EntrypointLog = Yes
	case "container-writable", "container-readonly":
		return choose(&o.Writable, option == "container-writable", "--container-writable and --container-readonly")
	case "container-env":
		return o.addEnv(value)
	case "container-unshare":
		return o.addUnshare(value)
	default:
		return fmt.Errorf("--%s is not a container option", option)
	}
	return nil
}

func once(p *string, option, value string) error {
	if *p != "" && *p != value {
		return fmt.Errorf("--%s specified multiple times", option)
	}
	*p = value
	return nil
}

func choose(p *Choice, yes bool, both string) error {
	v := No
	if yes {
		v = Yes
	}
	if *p != Unset && *p != v {
		return fmt.Errorf("both %s were specified", both)
	}
	*p = v
	return nil
}

// setName reads NAME[:FLAG]. A name is one of a folder here: enroot refuses one with a slash as well.
func (o *Options) setName(value string) error {
	name, flag, _ := strings.Cut(value, ":")
	switch {
	case name == "":
		return fmt.Errorf("--container-name: empty name")
	case strings.ContainsAny(name, "/\x00") || len(name) > 200:
		return fmt.Errorf("--container-name: invalid name: %s", name)
	case flag == "":
		flag = "auto"
	case !slices.Contains([]string{"auto", "create", "exec", "no_exec"}, flag):
		return fmt.Errorf(`--container-name: flag must be "auto", "create", "exec" or "no_exec"`)
	}
	if o.Name != "" && (o.Name != name || o.Reuse != flag) {
		return fmt.Errorf("--container-name specified multiple times")
	}
	o.Name, o.Reuse = name, flag
	return nil
}

func (o *Options) addEnv(value string) error {
	names := strings.Split(value, ",")
	if slices.Contains(names, "") {
		return fmt.Errorf("--container-env: invalid format: %s", value)
	}
	for _, n := range names {
		if strings.ContainsFunc(n, notInName) {
			return fmt.Errorf("--container-env: invalid format: %s", value)
		}
		if !slices.Contains(o.Env, n) {
			o.Env = append(o.Env, n)
		}
	}
	return nil
}

// notInName matches letters that no variable's name has, and that the shell in which enroot reads
// names would interpret.
func notInName(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

func (o *Options) addUnshare(value string) error {
	for ns := range strings.SplitSeq(value, ",") {
		switch {
		case ns == "":
			return fmt.Errorf("--container-unshare: empty namespace argument")
		case !slices.Contains([]string{"net", "ipc", "uts"}, ns):
			return fmt.Errorf("--container-unshare: unknown namespace '%s'", ns)
		case !slices.Contains(o.Unshare, ns):
			o.Unshare = append(o.Unshare, ns)
		}
	}
	return nil
}

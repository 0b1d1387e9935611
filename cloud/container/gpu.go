package container

import (
	"encoding/json"
	"slices"
)

// Edits are what a machine's GPUs need in a container: the driver's libraries, as CDI (Container
// Device Interface) writes it down. Devices themselves are there already.
type Edits struct {
	Env    []string
	Mounts []bundleMount
	Hooks  bundleHooks
}

// CDI prints what NVIDIA's container toolkit finds on the machine.
func CDI() Command { return Command{Argv: []string{"nvidia-ctk", "cdi", "generate", "--format=json"}} }

// WantsGPUs reports whether an image or a job asks for NVIDIA's driver: the convention of NVIDIA's own images.
func WantsGPUs(env []string) bool {
	v, _ := Lookup(env, "NVIDIA_VISIBLE_DEVICES")
	return v != "" && v != "void" && v != "none"
}

type cdiEdits struct {
	Env    []string `json:"env"`
	Mounts []struct {
		HostPath      string   `json:"hostPath"`
		ContainerPath string   `json:"containerPath"`
		Options       []string `json:"options"`
	} `json:"mounts"`
	Hooks []struct {
		HookName string   `json:"hookName"`
		Path     string   `json:"path"`
		Args     []string `json:"args"`
		Env      []string `json:"env"`
	} `json:"hooks"`
}

// ParseCDI reads the output of [CDI]: the edits for every container, and those of all devices.
func ParseCDI(text []byte) (*Edits, error) {
	var spec struct {
		Edits   cdiEdits `json:"containerEdits"`
		Devices []struct {
			Name  string   `json:"name"`
			Edits cdiEdits `json:"containerEdits"`
		} `json:"devices"`
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, err
	}
	e := &Edits{}
	e.add(&spec.Edits)
	for i := range spec.Devices {
		if spec.Devices[i].Name == "all" {
			e.add(&spec.Devices[i].Edits)
		}
	}
	return e, nil
}

func (e *Edits) add(c *cdiEdits) {
	e.Env = append(e.Env, slices.DeleteFunc(c.Env, func(v string) bool { return nameOf(v) == "NVIDIA_VISIBLE_DEVICES" })...)
	for _, m := range c.Mounts {
		e.Mounts = append(e.Mounts, bundleMount{m.ContainerPath, "bind", m.HostPath, m.Options})
	}
	for _, h := range c.Hooks {
		hook := Hook{h.Path, h.Args, h.Env}
		switch h.HookName {
		case "createRuntime":
			e.Hooks.CreateRuntime = append(e.Hooks.CreateRuntime, hook)
		case "createContainer":
			e.Hooks.CreateContainer = append(e.Hooks.CreateContainer, hook)
		case "startContainer":
			e.Hooks.StartContainer = append(e.Hooks.StartContainer, hook)
		}
	}
}

func (e *Edits) apply(b *Bundle) {
	b.Process.Env = append(slices.Clone(b.Process.Env), e.Env...)
	b.Mounts = append(b.Mounts, e.Mounts...)
	b.Hooks = &e.Hooks
}

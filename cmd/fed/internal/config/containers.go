package config

import (
	"fmt"
	"os/exec"
	"slices"

	"fsub/cloud/container"
	"fsub/federation"
)

// checkContainers checks what makes containers on the site's machines.
func (s *Site) checkContainers() error {
	switch {
	case s.Containers == "":
		return nil
	case !s.Rented():
		return fmt.Errorf("containers: this is for machines that are rented; the options of a Slurm cluster's plugin are named by plugin_options")
	case !slices.Contains(container.Engines, s.Containers):
		return fmt.Errorf("invalid containers %q: want enroot, podman, any or none", s.Containers)
	}
	return nil
}

// Engine returns the container runtime on the machines of a rented site. What the image of a
// cloud's machines has is not known before the first is rented, so the configuration names it, and
// what another daemon's machine has is not known here. This machine can be inspected.
func (s *Site) Engine() container.Engine {
	if s.Containers != "" || !s.Here() || s.Facts().Host != "" {
		return s.Containers
	}
	if container.Can(container.Any, installed) {
		return container.Any
	}
	return ""
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// containerOptions are those of pyxis that jobs may have at a rented site: a job that has one runs
// only where containers can be made.
func (s *Site) containerOptions() (list []federation.PluginOption) {
	if e := s.Engine(); !s.Rented() || e == "" || e == container.None {
		return nil
	}
	for _, o := range container.List {
		list = append(list, federation.PluginOption{Name: o.Name, Value: federation.TakesWhat(o.Takes), Plugin: container.Plugin})
	}
	return list
}

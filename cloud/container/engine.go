package container

import (
	"errors"
	"fmt"
	"strings"
)

// Engine is what makes containers on a machine.
type Engine string

const (
	Enroot Engine = "enroot" // NVIDIA's: what pyxis uses
	Podman Engine = "podman" // podman brings images here, crun runs them
	Any    Engine = "any"    // the first that is there
	None   Engine = "none"
)

// Engines are the words that a configuration may name.
var Engines = []Engine{Enroot, Podman, Any, None}

// Choose chooses among the engines that a machine has; has reports whether it has a program.
func Choose(want Engine, has func(program string) bool) (Engine, error) {
	enroot, crun := has("enroot"), has("crun")
	switch {
	case want == None:
		return "", errors.New("the configuration of this site says that its machines make no containers")
	case want == Enroot && !enroot:
		return "", errors.New("this machine has no enroot, which the configuration of this site names: install enroot")
	case want == Podman && !crun:
		return "", errors.New("this machine has no crun, which the configuration of this site asks for with podman: install podman, crun and squashfs-tools")
	case want != Podman && enroot:
		return Enroot, nil
	case crun:
		return Podman, nil
	}
	return "", errors.New("this machine has no program for containers: install enroot, or podman, crun and squashfs-tools")
}

// Can reports whether a machine makes containers of the engine that is wanted.
func Can(want Engine, has func(program string) bool) bool {
	_, err := Choose(want, has)
	return err == nil
}

// Missing says no where a program for one task is missing.
func Missing(program, pkg, task string) error {
	return fmt.Errorf("this machine has no %s, which %s needs: install %s", program, task, pkg)
}

// Command is a program to call, with variables for it over those that it inherits.
type Command struct {
	Argv []string
	Env  []string
}

// String is for logs and errors.
func (c Command) String() string { return strings.Join(c.Argv, " ") }

// Dirs are the folders of a job's containers on one machine. All of them are the user's.
type Dirs struct {
	Run    string `json:"run"`    // of this run; gone with it
	Images string `json:"images"` // of the user's images, kept on the machine for the next job
}

// Want is a container that a step or a batch script is to have on one machine.
type Want struct {
	Options *Options `json:"options"`
	Engine  Engine   `json:"engine,omitempty"` // as the site's configuration has it; "" is any
	Dirs    Dirs     `json:"dirs"`
	ID      string   `json:"id"` // names job and step: "4711.0", "4711.batch"
	User    string   `json:"user"`
	Home    string   `json:"home,omitempty"`
	// Binds are seen in the container under their own paths, before anything that the options ask for.
	Binds    []Bind   `json:"binds"`
	Commands string   `json:"commands,omitempty"` // the folder of our commands; "": none
	Self     []string `json:"self"`               // a command line of the holder, of one static file that the user can start
	Loud     bool     `json:"loud,omitempty"`     // say that an image is fetched, before that too
	// Refused is why there can be none; the rest says nothing then.
	Refused string `json:"refused,omitempty"`
	Stay    bool   `json:"stay,omitempty"` // the holder outlives who started it
}

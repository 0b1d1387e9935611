package config

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"fsub/federation"
	"fsub/federation/health"
)

// Directories is a list of absolute paths, or the one word "none" for the empty list. nil is not set.
type Directories []string

// UnmarshalYAML reads either form.
func (d *Directories) UnmarshalYAML(text []byte) error {
	var word string
	if err := yaml.Unmarshal(text, &word); err == nil {
		if word != "none" {
			return fmt.Errorf(`%q is neither a list of directories nor "none"`, word)
		}
		*d = Directories{}
		return nil
	}
	list := []string{}
	if err := yaml.Unmarshal(text, &list); err != nil {
		return err
	}
	*d = list
	return nil
}

// MarshalYAML prints what UnmarshalYAML reads.
func (d Directories) MarshalYAML() (any, error) {
	if d != nil && len(d) == 0 {
		return "none", nil
	}
	return []string(d), nil
}

// IsZero reports whether nothing was set: an empty list is something.
func (d Directories) IsZero() bool { return d == nil }

// PluginOption is an option of sbatch that a plugin of the site provides.
type PluginOption struct {
	// Long option, without its dashes.
	Name string `yaml:"name"`
	// Its short form, a letter.
	Short string `yaml:"short,omitempty"`
	// Whether it takes a value: required (the default), optional or none.
	Value federation.TakesWhat `yaml:"value,omitempty"`
	// Name of the plugin, as in plugstack.conf: pyxis.
	Plugin string `yaml:"plugin"`
}

var (
	optionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	pluginName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
)

func (s *Site) checkOffered() error {
	for _, dir := range s.FileSystems {
		if !path.IsAbs(dir) || path.Clean(dir) != dir {
			return fmt.Errorf(`filesystems: invalid path %q: want an absolute path without "..", "." and slashes at its end`, dir)
		}
	}
	if s.Scratch != "" && (!path.IsAbs(s.Scratch) || path.Clean(s.Scratch) != s.Scratch || strings.ContainsAny(s.Scratch, "%\\\n")) {
		return fmt.Errorf("scratch: invalid path %q: want an absolute path of a directory", s.Scratch)
	}
	for _, l := range s.Lift {
		if !slices.Contains(health.Lifts, l) && (l != liftNone || len(s.Lift) > 1) {
			return fmt.Errorf("lift: unknown kind %q: choose from %s, or write [none]", l, strings.Trim(fmt.Sprint(health.Lifts), "[]"))
		}
	}
	if err := s.checkContainers(); err != nil {
		return err
	}
	if err := s.checkInteractive(); err != nil {
		return err
	}
	if err := s.checkUse(); err != nil {
		return err
	}
	if err := s.Data.check(); err != nil {
		return err
	}
	for i, o := range s.PluginOptions {
		switch {
		case !optionName.MatchString(o.Name):
			return fmt.Errorf("plugin_options[%d]: invalid name %q: want a long option without its dashes", i, o.Name)
		case !pluginName.MatchString(o.Plugin):
			return fmt.Errorf("plugin_options[%d]: invalid plugin %q: want its name, under which the option reaches the job", i, o.Plugin)
		case len(o.Short) > 1:
			return fmt.Errorf("plugin_options[%d]: short: %q is not one letter", i, o.Short)
		case !slices.Contains([]federation.TakesWhat{"", federation.TakesValue, federation.MayTakeValue, federation.TakesNoValue}, o.Value):
			return fmt.Errorf("plugin_options[%d]: invalid value %q: want required, optional or none", i, o.Value)
		}
		if slices.ContainsFunc(s.PluginOptions[:i], func(p PluginOption) bool { return p.Name == o.Name }) {
			return errors.New("plugin_options: there are two options named " + o.Name)
		}
	}
	return nil
}

func (s *Site) PluginOptionList() []federation.PluginOption {
	out := s.containerOptions()
	for _, o := range s.PluginOptions {
		if o.Value == "" {
			o.Value = federation.TakesValue
		}
		out = append(out, federation.PluginOption{Name: o.Name, Short: o.Short, Value: o.Value, Plugin: o.Plugin})
	}
	return out
}

// liftNone is for [Site.Lift]: no drain is lifted.
const liftNone = "none"

// Lifts are the kinds of slurmctld's drains that are ended here once their cause is gone.
func (s *Site) Lifts() []health.Lift {
	switch {
	case s.Rented() || slices.Contains(s.Lift, liftNone): // rented machines have no slurmctld
		return nil
	case s.Lift == nil:
		return health.SafeLifts
	}
	return s.Lift
}

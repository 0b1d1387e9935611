package sbatch

import (
	"slices"
	"strings"

	"fsub/sbatch/getopt"
)

// Plugin is an option that a plugin of some sites adds to sbatch's. It takes part in all that
// options do: prefixes, directives.
type Plugin struct {
	Name  string // long, without dashes
	Short string // one letter, or ""
	Arg   getopt.Arg
}

// pluginRows are the options of plugins; a name that sbatch has itself stays sbatch's.
func pluginRows(plugins []Plugin) []getopt.Option {
	var rows []getopt.Option
	for i, g := range plugins {
		if g.Name == "" || slices.ContainsFunc(options[:], func(o option) bool { return o.name == g.Name }) {
			continue
		}
		row := getopt.Option{Name: g.Name, Arg: g.Arg, ID: pluginID + i}
		if len(g.Short) == 1 && !slices.ContainsFunc(options[:], func(o option) bool { return o.short == g.Short[0] }) {
			row.Short = g.Short[0]
		}
		rows = append(rows, row)
	}
	return rows
}

// givePlugin takes over an option of a plugin; the last value counts. The list is a copy, in the
// order of names.
func (s *Spec) givePlugin(name, value string) {
	list := slices.Clone(s.Plugin)
	i, found := slices.BinarySearchFunc(list, name, func(o PluginOption, name string) int { return strings.Compare(o.Name, name) })
	if !found {
		list = slices.Insert(list, i, PluginOption{})
	}
	list[i] = PluginOption{name, value}
	s.Plugin = list
}

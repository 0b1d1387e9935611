package scontrol

import (
	"errors"
	"fmt"
	"io"

	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	"fsub/sbatch/getopt"
)

// options are what the command line and the environment ask for, beside the verb.
type options struct {
	words    []string
	all      bool
	details  bool
	oneLine  bool
	quiet    bool
	json     bool // or YAML
	yaml     bool
	clusters string
}

var optionSet = option.NewSet(about, []option.Row[options]{
	{Name: "all", Short: 'a', Help: "hidden partitions too", Flag: func(o *options) *bool { return &o.all }},
	{Name: "cluster", As: "clusters"},
	{Name: "clusters", Short: 'M', Value: "SITE", Help: "only this site",
		Env: "SLURM_CLUSTERS", Text: func(o *options) *string { return &o.clusters }},
	{Name: "details", Short: 'd', Help: "more of each job", Flag: func(o *options) *bool { return &o.details }},
	{Name: "federation"},
	{Name: "future", Short: 'F'},
	{Name: "help", Short: 'h', Help: "show this help", Tell: true},
	{Name: "hide"},
	{Name: "json", Value: "VERSION", Help: "JSON, for programs",
		Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.json, o.yaml = true, false; return nil }},
	{Name: "local"},
	{Name: "oneliner", Short: 'o', Help: "one line for each record",
		Flag: func(o *options) *bool { return &o.oneLine }},
	{Name: "quiet", Short: 'Q', Help: "say nothing of what failed", Flag: func(o *options) *bool { return &o.quiet }},
	{Name: "sibling"},
	{Name: "uid", Short: 'u', Value: "UID", Help: "refused: scontrol acts for the user who calls it",
		Arg: getopt.RequiredArg, Do: func(*options, option.Value) error {
			return errors.New("scontrol: error: fsub's scontrol does not have --uid")
		}},
	{Name: "usage", Help: "show this help", Tell: true},
	{Name: "verbose", Short: 'v'},
	{Name: "version", Short: 'V', Help: "show the version of Slurm whose scontrol this is", Say: show.Version + "\n"},
	{Name: "yaml", Value: "VERSION", Help: "YAML, for programs",
		Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.json, o.yaml = true, true; return nil }},
})

// parse reads the environment, then the command line over it. done means that the command ends here with exit.
func parse(args, env []string, stdout, stderr io.Writer) (o options, exit int, done bool) {
	err := optionSet.Environment(&o, env)
	if err == nil {
		o.words, done, err = optionSet.Parse(&o, args, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return o, 1, true
	}
	return o, 0, done
}

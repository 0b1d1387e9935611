package sbatch

import (
	"strings"
	"sync"

	"fsub/sbatch/getopt"
)

// class says what becomes of an option.
type class uint8

const (
	carried class = iota // taken over into the request
	early                // only on the command line, read before the script; ignored in directives
	refused              // known, its value checked as sbatch does, and then refused by name
)

// matter says where a value of an option counts. Jobs are alike, so that placement looks at one of
// them for all, if they agree in what counts for it: see [Spec.Likeness].
type matter uint8

const (
	unsaid    matter = iota
	placement        // to where a job can run, and what that costs
	presence         // only that it is given counts for placement: a site's interface may have no word for it
	access           // to placement by what a site makes of it for the user: placement itself sorts jobs by that
	delivery         // to when and how a job is handed to a site
	display          // to listings, or to the command alone
)

// option is one row of the option table. set takes the value over into the parser, or only checks
// it; a value that was not given is "", which sbatch does not tell from an empty one.
type option struct {
	name  string
	short byte
	arg   getopt.Arg
	env   string // names of environment variables, with blanks
	class class
	to    matter
	since Release // first Slurm release that knows it, "" for all that matter
	until Release // first one that no longer does, "" for none
	set   func(p *parser, o *option, value string) error
}

func (o *option) in(r Release) bool { return o.since <= r && (o.until == "" || r < o.until) }

// optionSet is the table of [Following] as getopt wants it. The ID of an option is its index in the table.
var optionSet = sync.OnceValue(func() *getopt.Set { return newOptionSet(Following, nil) })

func newOptionSet(r Release, plugins []Plugin) *getopt.Set {
	rows := make([]getopt.Option, 0, len(options)+len(plugins))
	for i := range options {
		if o := &options[i]; o.in(r) {
			rows = append(rows, getopt.Option{Name: o.name, Short: o.short, Arg: o.arg, ID: i})
		}
	}
	return getopt.NewSet("sbatch", append(rows, pluginRows(plugins)...)).Whole(fedRows())
}

// Known are all options of the command line, for other commands that take most of them.
func Known() []getopt.Option {
	rows := fedRows()
	for i := range options {
		if o := &options[i]; o.in(Following) {
			rows = append(rows, getopt.Option{Name: o.name, Short: o.short, Arg: o.arg, ID: i})
		}
	}
	return rows
}

// apply takes over options that getopt has found, in their order.
func (p *parser) apply(found []getopt.Found, from source) error {
	for _, f := range found {
		switch {
		case f.ID >= pluginID:
			p.req.Spec.givePlugin(f.Name, f.Value)
			continue
		case f.ID == keyID:
			if err := p.req.giveKey(f.Value, from); err != nil {
				return err
			}
			continue
		case f.ID == explainID:
			if err := p.req.giveExplain(from); err != nil {
				return err
			}
			continue
		case f.ID >= fedID:
			if err := p.req.Spec.giveFed(f.ID-fedID, f.Value); err != nil {
				return err
			}
			continue
		}
		o := &options[f.ID]
		if o.class == early {
			if o.name == "ignore-pbs" {
				p.ignorePBS = true
				p.given.mark(f.ID, from)
			}
			continue // read from the command line before; nowhere else do the others count
		}
		if err := p.give(f.ID, f.Value, from); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) give(id int, value string, from source) error {
	o := &options[id]
	p.given.mark(id, from)
	if o.class == refused {
		p.given.refuse(o)
	}
	return o.set(p, o, value)
}

// invalid is the refusal of most values.
func (o *option) invalid() error {
	return errorLine(exitBadOption, "Invalid --", o.name, " specification")
}

// badOption is the refusal of a command line by getopt.
func badOption(r Release, err error) error {
	lines := []string{err.Error(), `Try "sbatch --help" for more information`}
	if _, word, ok := strings.Cut(err.Error(), "unrecognized option '--"); ok {
		name, _, _ := strings.Cut(strings.TrimSuffix(word, "'"), "=")
		for i := range options {
			if o := &options[i]; o.name == name && o.since > Following && r == Following {
				lines = append(lines, "sbatch: error: --"+name+" came with Slurm "+string(o.since)+
					"; fsub follows "+string(Following)+" and does not carry it yet")
			}
		}
		if fedNamed(name) {
			lines = append(lines, "sbatch: error: --"+name+" is for #FSUB lines; on the command line it is --fed-"+name)
		}
	}
	return &Exit{Code: exitBadOption, Stderr: lines, Unknown: !strings.Contains(err.Error(), "argument")}
}

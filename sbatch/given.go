package sbatch

import "slices"

// source is where an option came from.
type source uint8

const (
	fromNowhere source = iota
	fromScript
	fromEnv
	fromArgs
)

// given records which options a call has, where each was last set, and which of them fsub does not carry.
// Options go by their index in the table.
type given struct {
	sources [160]source
	ids     []uint8 // of all that were ever set
	refused []*option
}

// from returns where the option called name was last set.
func (g *given) from(name string) source {
	for _, id := range g.ids {
		if g.sources[id] != fromNowhere && options[id].name == name {
			return g.sources[id]
		}
	}
	return fromNowhere
}

func (g *given) has(name string) bool { return g.from(name) != fromNowhere }

// mark records that an option was set.
func (g *given) mark(id int, from source) {
	if !slices.Contains(g.ids, uint8(id)) {
		g.ids = append(g.ids, uint8(id))
	}
	g.sources[id] = from
}

// drop makes an option one that was not given.
func (g *given) drop(id int) {
	g.sources[id] = fromNowhere
	g.allow(&options[id])
}

// ignore makes an option, in each of its forms, one that was not given. Its refusal stays.
func (g *given) ignore(name string) {
	for i := range options {
		if options[i].name == name {
			g.sources[i] = fromNowhere
		}
	}
}

// refuse records an option that fsub does not carry. The job is refused once everything else is right.
func (g *given) refuse(o *option) {
	if !slices.Contains(g.refused, o) {
		g.refused = append(g.refused, o)
	}
}

// allow takes back what refuse recorded.
func (g *given) allow(o *option) {
	g.refused = slices.DeleteFunc(g.refused, func(r *option) bool { return r == o })
}

// uncarried refuses the first of the options that fsub does not carry.
func (g *given) uncarried() error {
	if len(g.refused) == 0 {
		return nil
	}
	o := g.refused[0]
	switch {
	case o.name == "uid" || o.name == "gid":
		return errorLine(exitFatal, "--", o.name, " is not carried by fsub, which submits as the calling user; run: sudo -u USER sbatch ...")
	case o.since > Following:
		return errorLine(exitFatal, "--", o.name, " came with Slurm ", string(o.since), " and is not carried by fsub yet")
	}
	return errorLine(exitFatal, "--", o.name, " is not carried by fsub yet")
}

package submission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/depend"
	"fsub/sbatch"
)

// batch is the entries of a batch, and what follows from them together.
type batch struct {
	all    []*Entry
	at     map[string]int           // entries by their names
	given  []string                 // dependencies, with names in them
	order  []int                    // in which they get their numbers
	others map[federation.JobID]int // jobs of before that some entry depends on, with one such entry
	size   Size                     // of all
	parts  []Part                   // as what they count, where anybody counts

	environments map[environment][]string // with the name of the group in them: many entries share one
}

// environment is one that entries share, and the group that they are in.
type environment struct {
	first *string
	n     int
	group string
}

// share has an entry's environment, once its job is prepared, be that of the entries before it that had the same.
func (b *batch) share(e *Entry, prepare func() error) error {
	env := e.Payload.Environment
	if len(env) == 0 {
		return prepare()
	}
	of := environment{&env[0], len(env), e.Job.Spec.GroupName()}
	if same := b.environments[of]; same != nil {
		e.Payload.Environment = same
	}
	err := prepare()
	if b.environments == nil {
		b.environments = map[environment][]string{}
	}
	b.environments[of] = e.Payload.Environment
	return err
}

// take takes the names of all entries.
func (b *batch) take() error {
	var wrong faults
	b.given, b.others = make([]string, len(b.all)), map[federation.JobID]int{}
	for i, e := range b.all {
		b.given[i] = e.Job.Spec.Dependency
		if e.Name == "" {
			continue
		}
		if why := depend.InvalidName(e.Name); why != "" {
			wrong.add(e, answer.BadBody(fmt.Sprintf("invalid name %.150q: %s", e.Name, why)))
			continue
		}
		if first, known := b.at[e.Name]; known {
			wrong.add(e, answer.BadBody(fmt.Sprintf("the name %s is that of line %d, too: give each entry a name of its own, or none", e.Name, b.all[first].Line)))
			continue
		}
		b.at[e.Name] = i
	}
	return wrong.err()
}

// find is the entry that a name in a dependency means, and the task of it that is meant, if it is one: "_7".
func (b *batch) find(name string) (i int, task string, known bool) {
	if i, known = b.at[name]; known {
		return i, "", true
	}
	array, task, of := depend.Task(name)
	if i, known = b.at[array]; of && known {
		return i, "_" + task, true
	}
	return 0, "", false
}

// arrange finds the order in which the entries get their numbers: each comes after those that it names.
func (b *batch) arrange() error {
	var wrong faults
	names := make([][]int, len(b.all))
	for i, e := range b.all {
		for _, name := range depend.Names(b.given[i]) {
			other, _, known := b.find(name)
			if !known {
				wrong.add(e, dependencyProblem(fmt.Sprintf("dependency %.100q names %.100q, which is no entry of the batch: name an entry as @NAME, or give the number of a job", b.given[i], name)))
				continue
			}
			names[i] = append(names[i], other)
		}
	}
	if err := wrong.err(); err != nil {
		return err
	}
	order, ring := depend.Order(len(b.all), func(i int) []int { return names[i] })
	if ring != nil {
		wrong.add(b.all[ring[0]], dependencyProblem("the dependencies form a ring, so none of its jobs could ever start: "+b.shown(ring)+"; take one of these dependencies out"))
	}
	b.order = order
	return wrong.err()
}

// shown is a ring of entries for people: "a -> b -> a".
func (b *batch) shown(ring []int) string {
	const most = 10
	var words []string
	for _, i := range ring[:min(len(ring), most)] {
		words = append(words, b.all[i].Name)
	}
	if len(ring) > most {
		words = append(words, "...")
	}
	return strings.Join(append(words, b.all[ring[0]].Name), " -> ")
}

// dependency is what an entry depends on, with numbers for names.
func (b *batch) dependency(i int, number func(entry int) string) string {
	return depend.Named(b.given[i], func(name string) string {
		other, task, _ := b.find(name)
		return number(other) + task
	})
}

// payload is that of an entry, with what sbatch tells a job of its dependency. Many entries share the rest of it, so it is made one by one, as they are stored.
func (b *batch) payload(i int) *sbatch.Payload {
	p := b.all[i].Payload
	on := b.all[i].Job.Spec.Dependency
	if on == "" {
		return p
	}
	const variable = "SLURM_JOB_DEPENDENCY="
	env := slices.DeleteFunc(slices.Clone(p.Environment), func(e string) bool { return strings.HasPrefix(e, variable) })
	return &sbatch.Payload{Script: p.Script, Argv: p.Argv, Environment: append(env, variable+on)}
}

// needs notes the jobs of before that an entry depends on. It fails if that cannot be read.
func (b *batch) needs(i int) error {
	text := b.all[i].Job.Spec.Dependency
	if text == "" {
		return nil
	}
	parsed, err := depend.Parse(text)
	if err != nil {
		return dependencyProblem(fmt.Sprintf("invalid dependency %.200q: want terms such as afterok:@NAME or afterany:30000001, with commas between them where all are to be met, or with question marks: %s",
			b.given[i], strings.ReplaceAll(reason(err), placeholder, "@NAME")))
	}
	for _, t := range parsed.Terms {
		if t.Job != 0 && (t.Job.String() != placeholder || strings.Contains(b.given[i], placeholder)) {
			b.others[t.Job] = i
		}
	}
	return nil
}

// reason is the innermost sentence of an error.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil || inner == federation.ErrInvalid {
			return strings.TrimPrefix(err.Error(), federation.ErrInvalid.Error()+": ")
		}
		err = inner
	}
}

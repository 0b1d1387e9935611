package sbatch

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"fsub/sbatch/getopt"
)

// The directives of PBS and LSF, as sbatch translates them: after its own ones, which they
// overrule. Each line is a command line of its own. Found by trying sbatch 24.11.5.

// foreignSets are the options of #BSUB and #PBS lines; an ID is the option's letter.
var foreignSets = sync.OnceValue(func() map[string]*getopt.Set {
	set := func(letters string) *getopt.Set {
		var rows []getopt.Option
		for i := 0; i < len(letters); i++ {
			if letters[i] == ':' {
				rows[len(rows)-1].Arg = getopt.RequiredArg
				continue
			}
			rows = append(rows, getopt.Option{Short: letters[i], ID: int(letters[i])})
		}
		return getopt.NewSet("sbatch", rows)
	}
	return map[string]*getopt.Set{
		"#BSUB": set("c:e:J:m:M:n:o:q:W:x"),
		"#PBS":  set("a:A:c:C:d:e:hIj:J:k:l:m:M:N:o:p:q:r:S:t:u:v:Vw:W:z"),
	}
})

// foreign reads the directives of other batch systems in the script of lines, and gives the sbatch options that they mean.
type foreign struct {
	lines *scanner
	spec  *Spec                          // as it is by now: some directives add to it
	env   *jobEnvironment                // gets the umask; -v adds to --export
	give  func(name, value string) error // takes over an option of sbatch as if the script had it
}

// directives reads the #BSUB lines of a script, or its #PBS lines if it has none of the
// former. It goes on after the first command, and gives up after a hundred lines that are not comments.
func (f *foreign) directives() error {
	if !bytes.Contains(f.lines.script, []byte("#BSUB")) && !bytes.Contains(f.lines.script, []byte("#PBS")) {
		return nil
	}
	for _, mark := range [...]string{"#BSUB", "#PBS"} {
		found, err := f.marked(mark)
		if found || err != nil {
			return err
		}
	}
	return nil
}

func (f *foreign) marked(mark string) (found bool, err error) {
	misses := 0
	script := f.lines.script
	for number := 1; len(script) > 0 && misses <= 100; number++ {
		var line []byte
		line, script, _ = bytes.Cut(script, []byte{'\n'})
		if text, ok := bytes.CutPrefix(line, []byte(mark)); ok {
			found = true
			if err := f.line(text, mark, number); err != nil {
				return true, err
			}
		}
		if len(line) == 0 || line[0] != '#' {
			misses++
		}
	}
	return found, nil
}

func (f *foreign) line(text []byte, mark string, number int) error {
	words, het, err := f.lines.words(nil, text, number)
	if err != nil {
		return err
	}
	if het {
		return errorLine(exitFatal, "Invalid argument: hetjob")
	}
	give := f.givePBS
	if mark == "#BSUB" {
		give = f.giveBSUB
		for i := range words {
			if words[i] == "-cwd" { // the one name of more than a letter
				words[i] = "-c"
			}
		}
	}
	options, rest, gerr := foreignSets()[mark].Parse(words, getopt.StopAtFirst)
	for _, o := range options {
		if err := give(byte(o.ID), o.Value); err != nil {
			return err
		}
	}
	switch {
	case gerr != nil:
		return exit(exitFatal, gerr.Error(), "sbatch: error: Unrecognized command line parameter ?")
	case len(rest) > 0:
		return errorLine(exitFatal, "Invalid argument: ", rest[0])
	}
	return nil
}

// giveBSUB takes over one option of a #BSUB line.
func (f *foreign) giveBSUB(letter byte, v string) error {
	switch letter {
	case 'm':
		return f.give("nodelist", strings.ReplaceAll(v, " ", ","))
	case 'M':
		if digits(v) { // LSF's unit is the KB
			v += "K"
		}
		return f.give("mem-per-cpu", v)
	case 'n':
		if _, most, ranged := strings.Cut(v, ","); ranged {
			if most == "" {
				return errorLine(exitFatal, "#BSUB -n format not correct given: '", v, "'")
			}
			v = most
		}
		return f.give("ntasks", v)
	}
	return f.give(map[byte]string{'c': "chdir", 'e': "error", 'J': "job-name", 'o': "output", 'q': "partition", 'W': "time",
		'x': "exclusive"}[letter], v)
}

// givePBS takes over one option of a #PBS line. Those that it does not know by name mean nothing to sbatch.
func (f *foreign) givePBS(letter byte, v string) error {
	switch letter {
	case 'l':
		return f.pbsResources(v)
	case 'm':
		return f.give("mail-type", pbsMail(v))
	case 'v':
		if f.env.export != nil {
			v = *f.env.export + "," + v
		}
		return f.give("export", v)
	case 'W':
		if after, ok := strings.CutPrefix(v, "depend="); ok {
			return f.give("dependency", after)
		}
		if mask, ok := strings.CutPrefix(v, "umask="); ok {
			end := 0
			for end < len(mask) && mask[end] >= '0' && mask[end] <= '7' {
				end++
			}
			if n, err := strconv.ParseUint(mask[:end], 8, 12); err == nil {
				f.env.umask = new(int(n))
			}
		}
		return nil
	}
	name := map[byte]string{'a': "begin", 'A': "account", 'd': "chdir", 'e': "error", 'h': "hold", 'J': "array", 'M': "mail-user",
		'N': "job-name", 'o': "output", 'p': "nice", 'q': "partition", 't': "array", 'w': "chdir"}[letter]
	if name == "" {
		return nil
	}
	return f.give(name, v)
}

// pbsMail is the value of --mail-type for the letters of -m.
func pbsMail(letters string) string {
	if strings.Contains(letters, "n") {
		return "NONE"
	}
	var types []string
	for _, l := range letters {
		if t := map[rune]string{'a': "FAIL", 'b': "BEGIN", 'e': "END"}[l]; t != "" {
			types = append(types, t)
		}
	}
	return strings.Join(types, ",")
}

// pbsNames are the names in a -l list that mean something, with the character at which their values
// end. Those without an option are passed over, value and all; whatever else there is, is passed
// over letter by letter.
var pbsNames = [...]struct {
	name string
	end  string
	opt  string
}{
	{"naccelerators=", ",", "gres"}, {"arch=", ",", ""}, {"cput=", ",", "time"}, {"file=", ",", "tmp"}, {"host=", ",", ""},
	{"mem=", ",", "mem"}, {"mpiprocs=", ":", "ntasks-per-node"}, {"ncpus=", ":", "mincpus"}, {"nice=", ",", "nice"},
	{"nodes=", ",", "nodes"}, {"opsys=", ",", ""}, {"other=", ",", ""}, {"pcput=", ",", "time"}, {"pmem=", ",", ""},
	{"proc=", ",", "constraint"}, {"pvmem=", ",", ""}, {"select=", ":", "select"}, {"software=", ",", ""}, {"vmem=", ",", ""},
	{"walltime=", ",", "time"},
}

// pbsResources takes over a -l list.
func (f *foreign) pbsResources(list string) error {
	selected, cpus, procs := false, 0, 0
next:
	for list != "" {
		for _, r := range &pbsNames {
			v, ok := strings.CutPrefix(list, r.name)
			if !ok {
				continue
			}
			v, list, _ = strings.Cut(v, r.end)
			if err := f.pbsResource(r.name, r.opt, v); err != nil {
				return err
			}
			switch r.opt {
			case "select":
				selected = true
			case "mincpus":
				cpus = f.spec.more().MinCPUs
			case "ntasks-per-node":
				procs = f.spec.NTasksPerNode
			case "constraint": // sbatch loses what stands after it
				_, list, _ = strings.Cut(list, ",")
			}
			continue next
		}
		if v, ok := strings.CutPrefix(list, "accelerator="); ok && len(v) >= 4 && strings.EqualFold(v[:4], "true") {
			if err := f.pbsGPUs("1"); err != nil {
				return err
			}
		}
		list = list[1:]
	}
	if selected && procs > 0 && cpus/procs > 0 {
		return f.give("cpus-per-task", strconv.Itoa(cpus/procs))
	}
	return nil
}

// pbsResource takes over one item of a -l list.
func (f *foreign) pbsResource(name, option, v string) error {
	switch option {
	case "":
		return nil
	case "nodes":
		return f.pbsNodes(v)
	case "select":
		return f.give("nodes", v)
	case "gres":
		if _, err := f.lines.release.count(strings.TrimSuffix(name, "="), v, 1); err != nil {
			return err
		}
		return f.pbsGPUs(v)
	}
	return f.give(option, v)
}

// pbsGPUs adds GPUs of each node to what --gres says.
func (f *foreign) pbsGPUs(n string) error {
	gres := "gpu:" + n
	if had := f.spec.GRES; had != "" {
		gres = had + "," + gres
	}
	return f.give("gres", gres)
}

// pbsNodes reads nodes=2:ppn=4:gpus=1+n7: chunks of nodes, by number or by name, and what each has.
// The tasks of all chunks together count for each node, as odd as that is.
func (f *foreign) pbsNodes(v string) error {
	nodes, tasks, gpus := 0, 0, ""
	var names []string
	for _, item := range strings.FieldsFunc(v, func(r rune) bool { return r == '+' || r == ':' }) {
		n, _, _ := number(item)
		switch {
		case strings.HasPrefix(item, "ppn="):
			n, _, _ := number(item[len("ppn="):])
			tasks += int(n)
		case strings.HasPrefix(item, "gpus="):
			gpus = item[len("gpus="):]
		case item[0] >= '0' && item[0] <= '9':
			nodes += int(n)
		default:
			names = append(names, item)
		}
	}
	given := [...]struct{ option, value string }{{"nodes", ""}, {"ntasks", ""}, {"gpus-per-node", gpus}, {"nodelist", strings.Join(names, ",")}}
	if nodes > 0 {
		given[0].value = strconv.Itoa(nodes)
	}
	if tasks > 0 {
		given[1].value = strconv.Itoa(tasks * max(1, nodes))
	}
	for _, g := range given {
		if g.value == "" {
			continue
		}
		if err := f.give(g.option, g.value); err != nil {
			return err
		}
	}
	return nil
}

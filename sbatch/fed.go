package sbatch

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fsub/sbatch/getopt"
	"fsub/topology/torus"
)

// fedOptions are what is asked of the federation itself. On the command line they are --fed-NAME,
// and only the whole name will do, so that sbatch's own prefixes stay what they are; in #FSUB
// lines, which are comments to the real sbatch, the prefix may be left out. The variable of an
// option is between the two: FSUB_SITES for --fed-sites. Of several values the last one counts, but
// for inputs, copies and what is kept, which add up.
var fedOptions = [...]struct {
	name string
	to   matter
	set  func(f *Fed, v string) (why string)
}{
	{"sites", placement, func(f *Fed, v string) string { return nameList(&f.Sites, v) }},
	{"exclude-sites", placement, func(f *Fed, v string) string { return nameList(&f.NotSites, v) }},
	{"accelerators", placement, setAccelerators},
	{"max-cost", placement, setMaxCost},
	{"traffic", placement, setTraffic},
	{"tpu-topology", placement, setTPUTopology},
	{"deadline-value", placement, setDeadlineValue},
	{"checkpoint", placement, setCheckpoint},
	{"input", placement, addInput},
	{"stage-in", access, func(f *Fed, v string) string { return addStage((*[]Stage)(&f.StageIn), v) }},
	{"stage-out", access, func(f *Fed, v string) string { return addStage((*[]Stage)(&f.StageOut), v) }},
	{"stage-out-size", placement, setStageOutSize},
	{"keep", access, addKeep},
	{"group", display, setGroup},
	{"retry", delivery, setRetry},
	{"retry-mem", delivery, setRetryMem},
	{"retry-time", delivery, setRetryTime},
	{"pack", delivery, setPack},
	{"on-node-loss", delivery, setOnNodeLoss},
	{"heartbeat", delivery, setHeartbeat},
}

// IDs of options that are not of the table: fedID + index in fedOptions, pluginID + index in Input.Plugins.
const (
	fedID     = 1000
	explainID = 1998
	keyID     = 1999
	pluginID  = 2000
)

// MaxKey bounds the key of a submission.
const MaxKey = 128

// ValidKey reports whether a submission may have the key: printable ASCII without blanks.
func ValidKey(key string) bool {
	return key != "" && len(key) <= MaxKey && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}

// giveKey takes the key of the submission. It is the command line's alone: a script, or an environment that jobs inherit, is there for many.
func (r *Request) giveKey(v string, from source) error {
	switch {
	case from != fromArgs:
		return errorLine(exitBadOption, "--fed-key names one submission: give it on the command line")
	case !ValidKey(v):
		return errorLine(exitBadOption, "Invalid --fed-key specification: want at most ", strconv.Itoa(MaxKey), " letters, digits and signs without blanks")
	}
	r.Key = v
	return nil
}

// giveExplain asks for an explanation, and for nothing else. Like a key it is of one call.
func (r *Request) giveExplain(from source) error {
	if from != fromArgs {
		return errorLine(exitBadOption, "--fed-explain submits nothing: give it on the command line")
	}
	r.Explain, r.TestOnly = true, true
	return nil
}

// fedRows are the fed options as the command line has them. Two have a short name there, too, which no option of sbatch has.
func fedRows() []getopt.Option {
	rows := make([]getopt.Option, len(fedOptions), len(fedOptions)+4)
	for i, o := range fedOptions {
		rows[i] = getopt.Option{Name: "fed-" + o.name, Arg: getopt.RequiredArg, ID: fedID + i}
		if o.name == "group" {
			rows = append(rows, getopt.Option{Name: o.name, Arg: getopt.RequiredArg, ID: fedID + i})
		}
	}
	return append(rows, getopt.Option{Name: "fed-key", Arg: getopt.RequiredArg, ID: keyID},
		getopt.Option{Name: "fed-explain", ID: explainID}, getopt.Option{Name: "explain", ID: explainID})
}

// fedLineSet is for #FSUB lines.
var fedLineSet = sync.OnceValue(func() *getopt.Set {
	rows := fedRows()
	for i, o := range fedOptions {
		if o.name != "group" { // which is among them
			rows = append(rows, getopt.Option{Name: o.name, Arg: getopt.RequiredArg, ID: fedID + i})
		}
	}
	return getopt.NewSet("sbatch: error: #FSUB", rows)
})

// fedNamed reports whether there is a fed option of the name, without its prefix.
func fedNamed(name string) bool {
	for _, o := range fedOptions {
		if o.name == name {
			return true
		}
	}
	return false
}

// fedLines takes over the words of #FSUB lines.
func (r *Request) fedLines(words []string) error {
	found, rest, err := fedLineSet().Parse(words, getopt.StopAtFirst)
	for _, f := range found {
		switch f.ID {
		case keyID:
			return r.giveKey(f.Value, fromScript)
		case explainID:
			return r.giveExplain(fromScript)
		}
		if err := r.Spec.giveFed(f.ID-fedID, f.Value); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		names := make([]string, len(fedOptions))
		for i, o := range fedOptions {
			names[i] = "--" + o.name
		}
		last := len(names) - 1
		return exit(exitBadOption, err.Error(), "sbatch: error: #FSUB lines know "+strings.Join(names[:last], ", ")+" and "+names[last])
	case len(rest) > 0:
		return errorLine(exitBadOption, "Invalid directive found in a #FSUB line: ", rest[0])
	}
	return nil
}

// fedEnvironment applies the FSUB_* variables.
func (s *Spec) fedEnvironment(vars []string) error {
	for i, o := range fedOptions {
		name := "FSUB_" + strings.ReplaceAll(strings.ToUpper(o.name), "-", "_")
		v, _ := lookup(vars, name)
		for item := range strings.Lines(v) { // several copies, one on a line
			if item = strings.TrimSpace(item); item == "" {
				continue
			}
			if err := s.giveFed(i, item); err != nil {
				return err
			}
		}
	}
	return nil
}

// giveFed takes over one option. The Fed is a copy: what was checked before is not changed.
func (s *Spec) giveFed(i int, v string) error {
	f := Fed{}
	if old := s.Fed; old != nil {
		f = *old
	}
	if why := fedOptions[i].set(&f, v); why != "" {
		return errorLine(exitBadOption, "Invalid --fed-", fedOptions[i].name, " specification: ", why)
	}
	s.Fed = &f
	return nil
}

func nameList(field *[]string, v string) (why string) {
	list := strings.Split(v, ",")
	for _, name := range list {
		if name == "" || strings.ContainsAny(name, " \t\n") {
			return "want names separated by commas, got " + strconv.Quote(v)
		}
	}
	*field = list
	return ""
}

// setAccelerators takes TYPE or TYPE:FACTOR items with commas.
func setAccelerators(f *Fed, v string) (why string) {
	var list []string
	if why := nameList(&list, v); why != "" {
		return why
	}
	for _, item := range list {
		kind, factor, given := strings.Cut(item, ":")
		n, err := strconv.ParseFloat(factor, 64)
		if kind == "" || given && (err != nil || !(n > 0) || math.IsInf(n, 0)) {
			return "want TYPE or TYPE:FACTOR with a factor above 0, such as a100:2, got " + strconv.Quote(item)
		}
	}
	f.Accelerators = list
	return ""
}

func setMaxCost(f *Fed, v string) (why string) { return dollars(&f.MaxCost, v) }

func setDeadlineValue(f *Fed, v string) (why string) { return dollars(&f.DeadlineValue, v) }

func setCheckpoint(f *Fed, v string) (why string) {
	d, ok := TimeLimit(v)
	if !ok || d <= 0 || d == Unlimited {
		return "want how often the job writes a checkpoint, as minutes, HH:MM:SS or D-HH:MM:SS, got " + strconv.Quote(v)
	}
	f.Checkpoint = d
	return ""
}

func dollars(field *float64, v string) (why string) {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return "want US dollars above 0, such as 25.50, got " + strconv.Quote(v)
	}
	*field = n
	return ""
}

// Traffics are the ways in which the nodes of a job may talk to each other.
var Traffics = [...]string{"collective", "none", "point-to-point", "all-to-all"}

func setTraffic(f *Fed, v string) (why string) {
	if v = strings.ToLower(v); !slices.Contains(Traffics[:], v) {
		return "want " + strings.Join(Traffics[:], ", ") + ", got " + strconv.Quote(v)
	}
	f.Traffic = v
	return ""
}

// setTPUTopology takes the size of a slice; whether there is such a one depends on the generation.
func setTPUTopology(f *Fed, v string) (why string) {
	s, err := torus.Parse(v)
	if err != nil {
		return err.Error()
	}
	f.TPUTopology = s.String()
	return ""
}

// byteSize reads a number of bytes: 500G, 1.5T, in powers of 1024. A number alone is bytes.
func byteSize(s string) (bytes int64, ok bool) {
	unit := 1.0
	if i := strings.IndexAny(s, "KMGTPkmgtp"); i > 0 {
		rest := strings.ToUpper(s[i+1:])
		if rest != "" && rest != "B" && rest != "IB" {
			return 0, false
		}
		unit = math.Pow(1024, float64(strings.Index("KMGTP", strings.ToUpper(s[i:i+1]))+1))
		s = s[:i]
	}
	n, err := strconv.ParseFloat(s, 64)
	if n *= unit; err != nil || !(n >= 1) || n > 1<<60 {
		return 0, false
	}
	return int64(n), true
}

// addInput takes SIZE@PLACE,PLACE...
func addInput(f *Fed, v string) (why string) {
	text, at, _ := strings.Cut(v, "@")
	bytes, ok := byteSize(text)
	in := Dataset{Bytes: bytes}
	if !ok || nameList(&in.At, at) != "" {
		return "want a size and where that much data lies, at a site or in a region of a cloud, such as 500G@alpha,aws:us-east-1, got " + strconv.Quote(v)
	}
	f.Inputs = append(f.Inputs[:len(f.Inputs):len(f.Inputs)], in)
	return ""
}

func setStageOutSize(f *Fed, v string) (why string) {
	n, ok := byteSize(v)
	if !ok {
		return "want how much the job writes that is staged out, such as 20G, got " + strconv.Quote(v)
	}
	f.StageOutSize = n
	return ""
}

// addStage takes FROM or "FROM -> TO". An arrow, since colons and equal signs are parts of URLs.
func addStage(field *[]Stage, v string) (why string) {
	from, to, arrow := strings.Cut(v, "->")
	s := Stage{From: strings.TrimSpace(from), To: strings.TrimSpace(to)}
	if s.From == "" || arrow && s.To == "" || strings.Contains(s.To, "->") {
		return strconv.Quote(v) + ` is not FROM or "FROM -> TO" with paths or URLs`
	}
	*field = append((*field)[:len(*field):len(*field)], s)
	return ""
}

// options writes f as words of a command line.
func (f *Fed) options(w *words) {
	if f == nil {
		return
	}
	w.texts("fed-sites", f.Sites)
	w.texts("fed-exclude-sites", f.NotSites)
	w.texts("fed-accelerators", f.Accelerators)
	if f.MaxCost != 0 {
		w.add("fed-max-cost", strconv.FormatFloat(f.MaxCost, 'f', -1, 64))
	}
	w.text("fed-traffic", f.Traffic)
	w.text("fed-tpu-topology", f.TPUTopology)
	if f.DeadlineValue != 0 {
		w.add("fed-deadline-value", strconv.FormatFloat(f.DeadlineValue, 'f', -1, 64))
	}
	w.limit("fed-checkpoint", f.Checkpoint)
	for _, in := range f.Inputs {
		w.add("fed-input", in.String())
	}
	for _, s := range f.StageIn {
		w.add("fed-stage-in", s.String())
	}
	for _, s := range f.StageOut {
		w.add("fed-stage-out", s.String())
	}
	if f.StageOutSize != 0 {
		w.add("fed-stage-out-size", strconv.FormatInt(f.StageOutSize, 10))
	}
	w.texts("fed-keep", f.Keep)
	w.text("fed-group", f.Group)
	f.Retry.options(w)
	w.text("fed-pack", f.Pack.text())
	w.text("fed-on-node-loss", f.OnNodeLoss)
	w.text("fed-heartbeat", f.Heartbeat)
}

// String is in as an option has it.
func (in Dataset) String() string {
	return strconv.FormatInt(in.Bytes, 10) + "@" + strings.Join(in.At, ",")
}

// String is s as an option has it.
func (s Stage) String() string {
	if s.To == "" {
		return s.From
	}
	return s.From + " -> " + s.To
}

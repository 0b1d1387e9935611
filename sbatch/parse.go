package sbatch

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"fsub/sbatch/getopt"
)

// Input is everything that decides what a call of sbatch means. Nothing else is read.
type Input struct {
	Args    []string // the words after the command's name
	Env     []string // NAME=value, as the process got it
	Dir     string   // current working directory, absolute
	Host    string   // for SLURM_SUBMIT_HOST
	Root    bool     // the caller is root
	Plugins []Plugin // options that plugins of sites add
	Slurm   Release  // whose sbatch is followed, "" is [Following]

	Now time.Time // in the caller's time zone: --begin=16:00 is meant there

	Umask  int
	Nice   int                    // the process's priority, for SLURM_PRIO_PROCESS
	Limits func() []Limit         // soft resource limits; nil: none are sent
	Files  Files                  // for the script and for host files
	Stdin  func() ([]byte, error) // read if no script is named; at most MaxScript+1 bytes
}

// Limit is one soft resource limit in Slurm's name ("NOFILE") and the kernel's unit; RLIM_INFINITY
// is the largest value.
type Limit struct {
	Name  string
	Value uint64
}

// Files reads the caller's files, with the caller's rights.
type Files interface {
	// Exists reports whether there is something under the name.
	Exists(name string) bool
	// Read returns the first limit bytes of a file.
	Read(name string, limit int) ([]byte, error)
}

// MaxScript is the largest script that a controller takes: Slurm's default of max_script_size.
const MaxScript = 4 << 20

// Request is a job to be submitted, and how the caller wants to hear of it.
type Request struct {
	Spec    Spec
	Payload Payload

	Parsable bool // print the number alone
	Quiet    bool // print nothing
	Wait     bool // until the job has ended
	TestOnly bool // only ask where and when it would start
	Explain  bool // with TestOnly: and why, and why not elsewhere
	Verbose  int
	Key      string // repeated under the same key, a submission makes no second job; "": none was given

	ExitError int      // exit code if the submission fails: 1, or what SLURM_EXIT_ERROR says
	Warnings  []string // lines for stderr that fail nothing
}

// Exit says that the call ends without a job: because it is refused, or because only help was asked for.
type Exit struct {
	Code   int
	Stdout string
	Stderr []string // lines, complete with their prefix
	// Unknown: it is because of an option that sbatch does not have; a plugin of some site may have it.
	Unknown bool
}

func (e *Exit) Error() string {
	if len(e.Stderr) == 0 {
		return "exit " + strconv.Itoa(e.Code)
	}
	return strings.Join(e.Stderr, "\n")
}

// Exit codes of sbatch. SLURM_EXIT_ERROR changes the last one only.
const (
	exitBadOption = 255
	exitFatal     = 1
)

// parser holds one call while it is read: script, then environment, then command line.
type parser struct {
	in      *Input
	req     Request
	release Release
	set     *getopt.Set
	shown   map[string]string // values of options that the request has no place for, as sbatch lists them

	sources      [160]source // who set each option last, by index
	given        []uint8     // indexes of those that were ever set
	refused      []*option
	exitError    int
	searchDir    string // where the script is looked for
	ignorePBS    bool
	wrap         *string
	export       *string
	propagate    *string
	nodeFile     bool // NodeList is the name of a file
	userEnv      bool
	hint         *string
	distribution string // "arbitrary" or ""

	umask *int // of #PBS -W umask=

	fedWords []string // of #FSUB lines

	openFailure string // why a host file cannot be read

	packjob bool   // its warning was given
	noGRES  string // "none" or "NONE", as --gres had it
	memBind memBind

	exportFile string
	exported   []string // what it held
	bbFile     string
	bbText     []byte

	timeLimit, timeMin uint32 // minutes; a negative limit is longer than a Duration

	explain    bool // keep what was understood, and give no request
	parseOnly  bool // without the checks between options; for tests
	understood []map[string]string

	tresPerTask string // as written, and what it says of CPUs and GPUs
	tresCPUs    int
	tresGPUs    string
}

func (p *parser) exit(code int, lines ...string) error {
	return &Exit{Code: code, Stderr: append(p.req.Warnings, lines...)}
}

// errorLine refuses with one line of the form "sbatch: error: ...".
func (p *parser) errorLine(code int, parts ...string) error {
	return p.exit(code, "sbatch: error: "+strings.Join(parts, ""))
}

func (p *parser) fatal(text string) error { return p.exit(exitFatal, "sbatch: fatal: "+text) }

// warn keeps a line for stderr.
func (p *parser) warn(line string) { p.req.Warnings = append(p.req.Warnings, line) }

// inform keeps a line that -Q keeps away.
func (p *parser) inform(line string) {
	if !p.req.Quiet {
		p.warn(line)
	}
}

// informVerbose keeps a line that only -v asks for.
func (p *parser) informVerbose(line string) {
	if p.req.Verbose > 0 || p.explain {
		p.inform("sbatch: " + line)
	}
}

// Parse reads one call of sbatch. Any error is an *Exit. The Request is whole only without an error.
func Parse(in Input) (*Request, error) {
	p := newParser(&in)
	if err := p.run(); err != nil {
		return nil, err
	}
	return &p.req, nil
}

func newParser(in *Input) *parser {
	p := &parser{in: in, exitError: 1, release: Following, set: optionSet()}
	if in.Slurm != "" {
		p.release = in.Slurm
	}
	if p.release != Following || in.Plugins != nil {
		p.set = newOptionSet(p.release, in.Plugins)
	}
	return p
}

func (p *parser) run() error {
	if err := p.read(); err != nil {
		return err
	}
	if p.explain {
		return nil
	}
	if err := p.refuseUncarried(); err != nil {
		return err
	}
	p.req.ExitError = p.exitError
	if p.bbText != nil {
		p.req.Payload.Script = withBurstBuffer(p.req.Payload.Script, p.bbText)
	}
	p.saySubmitter()
	p.buildEnvironment()
	return nil
}

// read takes over all options from their three sources, each overruling the one before.
func (p *parser) read() error {
	p.readExitError()
	found, operands, err := p.firstPass()
	if err != nil {
		return err
	}
	script, file, err := p.readScript(operands)
	if err != nil {
		return err
	}
	p.req.Payload.Script = unsafe.String(unsafe.SliceData(script), len(script)) // it may be 4 MiB, and nobody writes to it any more
	if len(operands) > 1 {
		p.req.Payload.Argv = operands[1:]
	}
	return p.components(found, script, file)
}

// firstPass reads the command line for what must be known before the script is, and checks all its
// values: a bad one is reported before anything that may be wrong with the script. The options take
// effect later, since they overrule script and environment.
func (p *parser) firstPass() (found [][]getopt.Found, operands []string, err error) {
	check := *p
	for args := p.in.Args; ; args = operands[1:] {
		part, rest, gerr := p.set.Parse(args, getopt.StopAtFirst)
		if err := p.checkPart(&check, part); err != nil {
			return nil, nil, err
		}
		if gerr != nil {
			return nil, nil, p.badOption(gerr)
		}
		found, operands = append(found, part), rest
		if len(rest) == 0 || rest[0] != ":" {
			break
		}
		check.inherit()
	}
	operands = slices.DeleteFunc(operands, func(w string) bool { return w == ":" }) // behind the script too sbatch drops them
	if p.searchDir = check.req.Spec.WorkDir; p.searchDir == "" {
		p.searchDir = p.in.Dir
	}
	p.earlyEnvironment()
	if p.wrap != nil && len(operands) > 0 {
		return nil, nil, p.errorLine(p.exitError, "Script arguments not permitted with --wrap option")
	}
	return found, operands, nil
}

// checkPart checks the options of one component of the command line and takes over those that count at once.
func (p *parser) checkPart(check *parser, part []getopt.Found) error {
	for i, f := range part {
		if err := check.apply(part[i:i+1], fromArgs); err != nil {
			return err
		}
		if f.ID >= len(options) {
			continue
		}
		switch o := &options[f.ID]; o.name {
		case "help":
			return &Exit{Stdout: helpText()}
		case "usage":
			return &Exit{Stdout: usageText()}
		case "autocomplete":
			return &Exit{Stdout: p.completions(f.Value)}
		case "version":
			return &Exit{Stdout: "slurm " + Version + "\n"}
		default:
			if o.class == early {
				p.mark(f.ID, fromArgs)
				if err := o.set(p, o, f.Value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (p *parser) notYet(what string) error {
	return p.errorLine(exitFatal, what, " is not carried by fsub yet")
}

func (p *parser) refuseUncarried() error {
	if len(p.refused) == 0 {
		return nil
	}
	o := p.refused[0]
	switch {
	case o.name == "uid" || o.name == "gid":
		return p.errorLine(exitFatal, "--", o.name, " is not carried by fsub, which submits for whoever calls it; run: sudo -u USER sbatch ...")
	case o.since > Following:
		return p.errorLine(exitFatal, "--", o.name, " came with Slurm ", string(o.since), " and is not carried by fsub yet")
	}
	return p.notYet("--" + o.name)
}

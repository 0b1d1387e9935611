package sbatch

import (
	"cmp"
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
	given   given
	notices notices
	shown   map[string]string // values that the request has no place for, or in another form, as sbatch lists them
	env     jobEnvironment
	own     own
	bbText  []byte // the content of the burst buffer's file

	exitError int
	ignorePBS bool
	wrap      *string
	hint      *string

	parseOnly  bool // without the checks between options; for tests
	understood []map[string]string
}

// own is the state of one component of a job that its Spec has no place for.
type own struct {
	distribution string // "arbitrary" or ""
	memBind      memBind
	burstBuffer  string // the file that --bbf names
	nodeFile     bool   // NodeList is the name of a file
	tres         tresPerTask
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
	p.env.in = in
	return p
}

func (p *parser) run() error {
	if err := p.read(); err != nil {
		return err
	}
	if p.notices.explain {
		return nil
	}
	if err := p.given.uncarried(); err != nil {
		return p.notices.before(err)
	}
	r := &p.req
	if p.bbText != nil {
		r.Payload.Script = withBurstBuffer(r.Payload.Script, p.bbText)
	}
	p.env.saySubmitter(&p.notices)
	r.Payload.Environment = p.env.build(&r.Spec)
	r.ExitError, r.Quiet, r.Verbose, r.Warnings = p.exitError, p.notices.quiet, p.notices.verbose, p.notices.lines
	return nil
}

// read takes over all options from their three sources, each overruling the one before.
func (p *parser) read() error {
	p.readExitError()
	line, err := p.firstPass()
	if err == nil {
		err = p.readAll(line)
	}
	return p.notices.before(err)
}

// readAll reads the script, then the job that it, the environment and the command line describe.
func (p *parser) readAll(line commandLine) error {
	script, file, err := p.readScript(line)
	if err != nil {
		return err
	}
	p.req.Payload.Script = unsafe.String(unsafe.SliceData(script), len(script)) // it may be 4 MiB, and is not written to any more
	if len(line.operands) > 1 {
		p.req.Payload.Argv = line.operands[1:]
	}
	return p.components(line.parts, script, file)
}

// commandLine is what the first pass over the command line found.
type commandLine struct {
	parts    [][]getopt.Found // the options of each component
	operands []string         // the script and its arguments
	dir      string           // where the script is looked for
}

// firstPass reads the command line for what must be known before the script is, and checks all its
// values: a bad one is reported before anything that may be wrong with the script. The options take
// effect later, since they overrule script and environment.
func (p *parser) firstPass() (line commandLine, err error) {
	check := &parser{in: p.in, exitError: p.exitError, release: p.release, set: p.set}
	for args := p.in.Args; ; args = line.operands[1:] {
		part, rest, gerr := p.set.Parse(args, getopt.StopAtFirst)
		if err := p.checkPart(check, part); err != nil {
			return line, err
		}
		if gerr != nil {
			return line, badOption(p.release, gerr)
		}
		line.parts, line.operands = append(line.parts, part), rest
		if len(rest) == 0 || rest[0] != ":" {
			break
		}
		check.inherit()
	}
	line.operands = slices.DeleteFunc(line.operands, func(w string) bool { return w == ":" }) // behind the script too sbatch drops them
	line.dir = cmp.Or(check.req.Spec.WorkDir, p.in.Dir)
	p.earlyEnvironment()
	if p.wrap != nil && len(line.operands) > 0 {
		return line, errorLine(p.exitError, "Script arguments not permitted with --wrap option")
	}
	return line, nil
}

// checkPart checks the options of one component of the command line and takes over those that count at once.
func (p *parser) checkPart(check *parser, part []getopt.Found) error {
	for i, f := range part {
		if err := check.apply(part[i:i+1], fromArgs); err != nil {
			return check.notices.before(err)
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
			return &Exit{Stdout: completions(p.release, f.Value)}
		case "version":
			return &Exit{Stdout: "slurm " + Version + "\n"}
		default:
			if o.class == early {
				p.given.mark(f.ID, fromArgs)
				if err := o.set(p, o, f.Value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

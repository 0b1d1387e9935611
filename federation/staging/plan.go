package staging

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"fsub/federation"
	"fsub/sbatch"
)

// Item is one copy by path. Where From is a pattern, or To ends in "/", To is a directory.
type Item struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Optional: it need not be there.
	Optional bool `json:"optional,omitempty"`
}

// Remote is one copy between the job's working directory and an http(s) address of the user's own.
type Remote struct {
	URL  string
	Path string // in the working directory
}

// Plan is what a job's stage-in and stage-out directives come to.
type Plan struct {
	In        []Item // From: on the submit host; To: in the job's working directory
	Out       []Item // From: in the job's working directory; To: on the submit host
	InRemote  []Remote
	OutRemote []Remote
	Keep      []string // in the job's working directory
}

// maxStages bounds the directives of one job in each direction.
const maxStages = 32

// NewPlan reads the directives. It fails with ErrInvalid.
func NewPlan(f *sbatch.Fed) (Plan, error) {
	var p Plan
	if f == nil {
		return p, nil
	}
	if len(f.StageIn) > maxStages || len(f.StageOut) > maxStages {
		return p, invalid("a job has at most %d stage-in and %d stage-out directives; name a directory or a pattern", maxStages, maxStages)
	}
	for _, s := range f.StageIn {
		if err := p.addIn(s); err != nil {
			return p, invalid("stage-in: %s: %v", s.From, err)
		}
	}
	for _, s := range f.StageOut {
		if err := p.addOut(s); err != nil {
			return p, invalid("stage-out: %s: %v", s.From, err)
		}
	}
	if why := f.InvalidKeep(); why != "" {
		return p, invalid("keep: %s", why)
	}
	p.Keep = f.Keep
	return p, nil
}

// invalid is a user's mistake, in words for the user.
func invalid(format string, args ...any) error {
	return &federation.SlurmError{Kind: federation.ErrInvalid, Text: fmt.Sprintf(format, args...)}
}

func (p *Plan) addIn(s sbatch.Stage) error {
	remote, err := isRemote(s.From)
	if err != nil {
		return err
	}
	to := s.To
	switch {
	case to != "":
	case remote != nil:
		to = path.Base(remote.Path)
	case path.IsAbs(s.From) || !local(s.From):
		to = path.Base(path.Clean(s.From))
		if hasMeta(s.From) {
			to = "./"
		}
	}
	if to != "" && !local(to) || to == "/" {
		return fmt.Errorf("%q does not lie in the job's working directory: give a relative path without \"..\"", to)
	}
	if remote != nil {
		if strings.HasSuffix(to, "/") {
			to += path.Base(remote.Path)
		}
		p.InRemote = append(p.InRemote, Remote{URL: s.From, Path: to})
		return nil
	}
	p.In = append(p.In, Item{From: s.From, To: to})
	return nil
}

func (p *Plan) addOut(s sbatch.Stage) error {
	if !local(s.From) {
		return fmt.Errorf("it does not lie in the job's working directory: give a relative path without \"..\"")
	}
	remote, err := isRemote(s.To)
	switch {
	case err != nil:
		return err
	case remote != nil && hasMeta(s.From):
		return fmt.Errorf("an address takes one file, not a pattern")
	case remote != nil:
		p.OutRemote = append(p.OutRemote, Remote{URL: s.To, Path: s.From})
	default:
		p.Out = append(p.Out, Item{From: s.From, To: s.To})
	}
	return nil
}

// isRemote reads an address; nil if text is a path. The daemon's own rights at other stores are not for users to borrow, so only
// addresses that need none are taken.
func isRemote(text string) (*url.URL, error) {
	scheme, _, ok := strings.Cut(text, "://")
	if !ok {
		return nil, nil
	}
	if scheme != "http" && scheme != "https" {
		return nil, fmt.Errorf("%s:// needs credentials that a node does not have: give a signed https:// address", scheme)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || strings.ContainsAny(text, "\"\\ \n\t\r") {
		return nil, fmt.Errorf("invalid address")
	}
	return u, nil
}

// local reports whether a path stays in the directory that it begins in.
func local(name string) bool {
	c := path.Clean(name)
	return name != "" && c[0] != '/' && c != ".." && !strings.HasPrefix(c, "../") && !strings.ContainsAny(name, "\x00\n")
}

// Names reports whether name, or a directory that it lies in, is what the item's From stands for: as a shell would read it, so "*" is
// not ".bashrc".
func (it Item) Names(name string) bool {
	from := path.Clean(it.From)
	if from == "." {
		return true
	}
	want, have := strings.Split(strings.ReplaceAll(from, "[!", "[^"), "/"), strings.Split(path.Clean(name), "/")
	if len(have) < len(want) {
		return false
	}
	for i, w := range want {
		if strings.HasPrefix(have[i], ".") && !strings.HasPrefix(w, ".") {
			return false
		}
		if ok, err := path.Match(w, have[i]); have[i] != w && (!ok || err != nil) {
			return false
		}
	}
	return true
}

func hasMeta(name string) bool { return strings.ContainsAny(name, "*?[") }

// Target is where a file goes that lies at name and was found by item: both relative, or both absolute. Item's To may be relative to
// anything. Of a pattern, what comes before its first * ? or [ is replaced by To; of a plain path, the last element is kept if To
// is a directory, and replaced otherwise. Empty To keeps the name.
func (it Item) Target(name string) string {
	name = path.Clean(name)
	if it.To == "" {
		return name
	}
	from := path.Clean(it.From)
	toDir := strings.HasSuffix(it.To, "/") || hasMeta(it.From) || path.Clean(it.To) == "."
	if from == "." {
		return path.Join(it.To, name)
	}
	head := from
	if toDir {
		head = path.Dir(from)
		for hasMeta(head) {
			head = path.Dir(head)
		}
	}
	if head == "." {
		return path.Join(it.To, name)
	}
	return path.Join(it.To, strings.TrimPrefix(strings.TrimPrefix(name, head), "/"))
}

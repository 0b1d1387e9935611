package staging

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/share"
	"fsub/sbatch"
)

// Config is what a Stager is made of.
type Config struct {
	Federation string // its name: the first part of every key
	Objects    Objects
	Files      Files
	// Scratch is, for each site, the directory of its nodes in which jobs work; "/tmp" where there is none. A job of several nodes
	// sees its files on all of them only if they share it.
	Scratch map[federation.SiteName]string
	// Payload reads a job's script and environment. Output is the file that a job's output, or its errors, go to on this machine;
	// t is the task of an array, nil for any other job.
	Payload func(ctx context.Context, id federation.JobID) (sbatch.Payload, error)
	Output  func(j *federation.Job, t *federation.Task, stderr bool) string
	// Attempts are those of a job, in their order. Sees reports whether a site sees a directory of the submit host; nil: none does.
	Attempts func(ctx context.Context, id federation.JobID) ([]federation.Attempt, error)
	Sees     func(site federation.SiteName, dir string) bool
	Place    string        // where the store lies, as --input has it: "aws:us-east-1"; "": not known
	Every    time.Duration // between two copies of what a job keeps that does not say how often it writes a checkpoint; half an hour if zero
	Max      int64         // bytes of a job's files in each direction, for each directive on the way home, and of a copy of what it keeps
	MaxOne   int64         // bytes of an object that a node may write; Max if zero
	Piece    int64         // bytes of each piece of such a copy, a multiple of a MiB; by Max if zero
	Life     time.Duration // of an address
	PerUser  int           // jobs of one user that are served at one time, of eight in all; three if zero
	Logger   *slog.Logger
}

// Stager implements federation.Stager.
type Stager struct {
	cfg   Config
	slots *share.Slots

	mu     sync.Mutex
	linked map[federation.JobID]time.Time // by array
}

// copies is how many jobs are served at one time; copiesOf is how many of one user's, unless the configuration says otherwise.
const (
	copies   = 8
	copiesOf = 3
)

// New returns a Stager.
func New(c Config) *Stager {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.MaxOne = min(cmp.Or(c.MaxOne, c.Max), c.Max)
	c.Piece = cmp.Or(c.Piece, sizeOfPiece(c.Max))
	return &Stager{cfg: c, slots: share.New(copies, cmp.Or(c.PerUser, copiesOf))}
}

// Prepare implements federation.Stager.
func (s *Stager) Prepare(ctx context.Context, site federation.SiteName, sub federation.Submission) (federation.Submission, error) {
	spec := sub.Job.Spec
	plan, err := NewPlan(spec.Fed)
	if err == nil {
		err = s.checkLife(spec)
	}
	if err != nil {
		return sub, s.tell(ctx, &sub, err)
	}
	free, err := s.slots.Take(ctx, sub.Job.UID)
	if err != nil {
		return sub, err
	}
	defer free()
	prefix := prefixOf(sub.Key)
	// Each try has an archive and addresses of its own: one of before may have reached the site, and its wrapper knows what it has to find.
	try := strings.ToLower(rand.Text()[:8])
	kept, err := s.keptBefore(ctx, sub.Job, plan)
	if err != nil {
		return sub, err
	}
	sum, err := s.pack(ctx, &sub, kept.with(plan), archiveOf(prefix, try))
	if err != nil {
		return sub, s.tell(ctx, &sub, err)
	}
	two := s.twoFiles(sub.Job)
	blocks, err := s.sign(ctx, prefix, try, spec.Array, two, plan, kept)
	if err != nil {
		return sub, fmt.Errorf("addresses in the store: %w", err)
	}
	scratch := s.cfg.Scratch[site]
	if scratch == "" {
		scratch = "/tmp"
	}
	w := Wrapper{Scratch: scratch, Blocks: blocks, Sum: sum, Array: spec.Array != "", TwoFiles: two, Max: s.cfg.Max, MaxOne: s.cfg.MaxOne, Piece: s.cfg.Piece,
		PutHeader: strings.Join(s.cfg.Objects.PutHeaders(), ""), Every: s.keepEvery(spec), Plan: plan}
	return rewritten(sub, w), nil
}

// checkLife refuses a job that may still run when its addresses have lapsed.
func (s *Stager) checkLife(spec *sbatch.Spec) error {
	if spec.TimeLimit != 0 && spec.TimeLimit > s.cfg.Life {
		return fmt.Errorf("%w: a job that is staged may run for at most %s (blobs: url_life)", federation.ErrCapacity, s.cfg.Life)
	}
	return nil
}

// rewritten is the submission that runs the wrapper. Its output files lie where the wrapper can read them, under a name that others
// cannot guess before the job is there.
func rewritten(sub federation.Submission, w Wrapper) federation.Submission {
	job := *sub.Job
	sub.Payload.Script = w.Text()
	name := path.Join(w.Scratch, "fsub-"+fingerprint(sub.Payload.Script)+"-%a")
	change := func(spec *sbatch.Spec) {
		spec.WorkDir, spec.Input, spec.OpenMode = w.Scratch, "", "truncate"
		spec.Output, spec.Error = name+".out", ""
		if w.TwoFiles {
			spec.Error = name + ".err"
		}
	}
	job.EditSpec(func(spec *sbatch.Spec) {
		change(spec)
		spec.Het = slices.Clone(spec.Het)
		for i := range spec.Het {
			change(&spec.Het[i])
		}
	})
	sub.Job = &job
	return sub
}

// tasksOf are the tasks of an array, or noTask for any other job.
func tasksOf(array string) ([]int, error) {
	if array == "" {
		return []int{noTask}, nil
	}
	return federation.ArrayIndices(array)
}

// sign writes the objects of addresses and returns their own addresses.
func (s *Stager) sign(ctx context.Context, prefix, try, array string, two bool, plan Plan, kept keptCopies) (map[int]string, error) {
	tasks, err := tasksOf(array)
	if err != nil {
		return nil, err
	}
	fetch, err := s.cfg.Objects.Sign(ctx, "GET", archiveOf(prefix, try), s.cfg.Life)
	if err != nil {
		return nil, err
	}
	text := map[int]*strings.Builder{}
	for _, t := range tasks {
		n := max(t, 0) / blockSize
		if text[n] == nil {
			text[n] = &strings.Builder{}
		}
		fmt.Fprintf(text[n], "%s in.tar %s\n", taskName(t), fetch)
		for _, name := range names(two, len(plan.Out)) {
			url, err := s.cfg.Objects.Sign(ctx, "PUT", prefix+taskName(t)+"/"+name, s.cfg.Life)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(text[n], "%s %s %s\n", taskName(t), name, url)
		}
		if len(plan.Keep) > 0 {
			if err := s.signKept(ctx, text[n], prefix, try, t, kept[t]); err != nil {
				return nil, err
			}
		}
	}
	blocks := map[int]string{}
	for n, b := range text {
		key := prefix + "urls." + try + "." + strconv.Itoa(n)
		if err := s.cfg.Objects.Put(ctx, key, strings.NewReader(b.String())); err != nil {
			return nil, err
		}
		if blocks[n], err = s.cfg.Objects.Sign(ctx, "GET", key, s.cfg.Life); err != nil {
			return nil, err
		}
	}
	return blocks, nil
}

func archiveOf(prefix, try string) string { return prefix + "in." + try + ".tar" }

// names are the objects that one task may write.
func names(two bool, outs int) []string {
	list := []string{"state"}
	for k := range pieces {
		list = append(list, "out."+strconv.Itoa(k))
		if two {
			list = append(list, "err."+strconv.Itoa(k))
		}
	}
	for i := range outs {
		list = append(list, filesName(i))
	}
	return list
}

func filesName(i int) string { return "files." + strconv.Itoa(i) + ".tar" }

package staging

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"fsub/federation"
)

// pack writes what the job starts with into the store: the user's script as it is, standard input, and the staged files. It returns the archive's SHA-256.
func (s *Stager) pack(ctx context.Context, sub *federation.Submission, plan Plan, key string) (sum string, err error) {
	spec := sub.Job.Spec
	items := make([]Item, 0, len(plan.In)+1)
	for _, it := range plan.In {
		items = append(items, inWork(it))
	}
	if spec.Input != "" && spec.Input != "none" && spec.Input != "/dev/null" {
		items = append(items, Item{From: spec.Input, To: "stdin"})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	hash := sha256.New()
	packed := make(chan error, 1)
	go func() {
		err := s.writeArchive(ctx, io.MultiWriter(w, hash), sub, items)
		packed <- err
		w.CloseWithError(err) // nil is the end of the file
	}()
	err = s.cfg.Objects.Put(ctx, key, r)
	r.CloseWithError(errors.New("the store takes no more"))
	if packErr := <-packed; packErr != nil && (errors.Is(packErr, federation.ErrInvalid) || errors.Is(packErr, federation.ErrDenied)) {
		return "", packErr
	}
	if err != nil {
		return "", fmt.Errorf("write to the store: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// inWork is a stage-in item as the archive has it: below work/.
func inWork(it Item) Item {
	if it.To == "" { // the name as it is
		return Item{From: it.From, To: "work/" + staticDir(it.From), Optional: it.Optional}
	}
	return Item{From: it.From, To: "work/" + it.To}
}

// staticDir is where the matches of a relative name go so that they keep it: the directory before its first pattern, or the
// name itself.
func staticDir(name string) string {
	name = path.Clean(name)
	if !hasMeta(name) {
		if name == "." {
			return ""
		}
		return name
	}
	for hasMeta(name) {
		name = path.Dir(name)
	}
	return name + "/"
}

// writeArchive writes the script, and then the user's files as the user can read them.
func (s *Stager) writeArchive(ctx context.Context, w io.Writer, sub *federation.Submission, items []Item) error {
	t := tar.NewWriter(w)
	script := sub.Payload.Script
	err := errors.Join(
		t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "work/", Mode: 0o755}),
		t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "slurm_script", Mode: 0o700, Size: int64(len(script))}))
	if err != nil {
		return err
	}
	if _, err := io.WriteString(t, script); err != nil {
		return err
	}
	if len(items) == 0 {
		return t.Close()
	}
	if err := t.Flush(); err != nil { // the user's archive goes on where this one stops
		return err
	}
	return s.cfg.Files.Pack(ctx, userOf(sub.Job, sub.Payload.Environment), sub.Job.Spec.WorkDir, items, s.cfg.Max, w)
}

// userOf is who a job's files belong to on this machine.
func userOf(j *federation.Job, env []string) User {
	u := User{Name: j.User, UID: j.UID, GID: j.GID, Umask: 0o022}
	for _, e := range env {
		if text, ok := strings.CutPrefix(e, "SLURM_UMASK="); ok {
			if n, err := strconv.ParseUint(text, 8, 9); err == nil {
				u.Umask = int(n)
			}
		}
	}
	return u
}

// tell puts the reason why a job ends before it ran into its output file, where its user looks first. It returns err.
func (s *Stager) tell(ctx context.Context, sub *federation.Submission, err error) error {
	if !errors.Is(err, federation.ErrInvalid) && !errors.Is(err, federation.ErrDenied) {
		return err
	}
	var task *federation.Task
	if tasks, e := tasksOf(sub.Job.Spec.Array); e == nil && tasks[0] != noTask {
		task = &federation.Task{Job: sub.Job.ID, Index: tasks[0]}
	}
	name := s.cfg.Output(sub.Job, task, true)
	u := userOf(sub.Job, sub.Payload.Environment)
	appendTo := sub.Job.Spec.OpenMode == "append"
	if e := s.cfg.Files.Write(ctx, u, name, appendTo, strings.NewReader("fsub: "+err.Error()+"\n")); e != nil {
		s.cfg.Logger.Warn("tell a user why the job failed", "job", sub.Job.ID, "err", e)
	}
	return err
}

func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

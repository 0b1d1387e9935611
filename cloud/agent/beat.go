package agent

import (
	"cmp"
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"fsub/cloud/agentapi"
	"fsub/sbatch"
)

// beats are the heartbeat files of the machine's runs (#FSUB --heartbeat).
type beats struct {
	mu   sync.Mutex
	runs map[string]*beatFile
}

// beatFile is what a run has written into its file.
type beatFile struct {
	path string
	node int            // the machine's number in the job
	as   *agentapi.User // who reads it; nil: the agent itself, which is that user

	mu      sync.Mutex
	looking bool // the file system has not answered yet
	partly  bool // it was empty: it may be written just now
	at      time.Time
	step    int64
	work    time.Duration // of the steps that were seen since it was told last
	seen    int
}

// lookBeats is how often the files are looked at, and tellBeats how often the daemon is told, where it does not say otherwise.
const (
	lookBeats = time.Second
	tellBeats = 20 * time.Second
)

// add begins to look at the file of a run, if it has one.
func (b *beats) add(r *run) {
	pattern := r.spec().Heartbeat()
	if pattern == "" {
		return
	}
	n := fileVars(r.l, r.node.Name)
	n.NodeID = r.l.Node
	f := &beatFile{path: sbatch.FileName(pattern, n), node: r.l.Node}
	if asRoot() {
		f.as = &r.l.User
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.runs == nil {
		b.runs = map[string]*beatFile{}
	}
	b.runs[r.l.Run] = f
}

func (b *beats) drop(run string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.runs, run)
}

// files are those of all runs.
func (b *beats) files() []*beatFile {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]*beatFile, 0, len(b.runs))
	for _, f := range b.runs {
		list = append(list, f)
	}
	return list
}

// read returns what was seen of all runs, and begins the next averages.
func (b *beats) read(now time.Time) (list []agentapi.Beat) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for run, f := range b.runs {
		f.mu.Lock()
		if !f.at.IsZero() {
			one := agentapi.Beat{Run: run, Node: f.node, Step: f.step, Age: max(now.Sub(f.at), 0)}
			if f.seen > 0 {
				one.Work = f.work / time.Duration(f.seen)
			}
			list = append(list, one)
		}
		f.work, f.seen = 0, 0
		f.mu.Unlock()
	}
	return list
}

// look reads the file if it was written since the last look. It returns when the file system has answered, which may be never.
func (f *beatFile) look() {
	f.mu.Lock()
	if f.looking {
		f.mu.Unlock()
		return
	}
	f.looking = true
	last := f.at
	if f.partly { // the rest may have come within the clock's tick
		last = last.Add(-1)
	}
	f.mu.Unlock()
	text, at, err := f.read(last)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looking = false
	if err != nil || !at.After(last) {
		return
	}
	f.at = at
	f.partly = text == ""
	step, work, ok := parseBeat(text)
	if !ok {
		return
	}
	if f.step = step; work > 0 {
		f.work, f.seen = f.work+work, f.seen+1
	}
}

// mostBeat is how much of a file's end is read.
const mostBeat = 256

// parseBeat reads the last line of a file: the number of a step, and, if it says so, the seconds that the step took without waiting for others.
func parseBeat(text string) (step int64, work time.Duration, ok bool) {
	text = strings.TrimRight(text, "\n")
	words := strings.Fields(text[strings.LastIndexByte(text, '\n')+1:])
	if len(words) == 0 {
		return 0, 0, false
	}
	step, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil || step < 0 {
		return 0, 0, false
	}
	if len(words) > 1 {
		if s, err := strconv.ParseFloat(words[1], 64); err == nil && s > 0 && s < 1e6 {
			work = time.Duration(s * float64(time.Second))
		}
	}
	return step, work, true
}

// read returns the end of the file, if it was written after last, and when it was.
func (f *beatFile) read(last time.Time) (text string, at time.Time, err error) {
	if f.as == nil {
		return readEnd(f.path, last)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends, and with it whose rights it has for files
		if err = become(f.as); err == nil {
			text, at, err = readEnd(f.path, last)
		}
	}()
	<-done
	return text, at, err
}

// become gives this thread the rights of a user for files, and no more than these.
func become(u *agentapi.User) error {
	groups := append([]uint32{u.GID}, u.Groups...)
	if _, _, no := syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); no != 0 {
		return no
	}
	// Neither call says whether it has done anything: a second one returns what holds.
	syscall.RawSyscall(syscall.SYS_SETFSGID, uintptr(u.GID), 0, 0)
	syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(u.UID), 0, 0)
	gid, _, _ := syscall.RawSyscall(syscall.SYS_SETFSGID, ^uintptr(0), 0, 0)
	uid, _, _ := syscall.RawSyscall(syscall.SYS_SETFSUID, ^uintptr(0), 0, 0)
	if uint32(gid) != u.GID || uint32(uid) != u.UID {
		return errors.New("the agent cannot read files as the job's user")
	}
	return nil
}

// readEnd reads the end of a regular file. Others, which could keep the reader waiting, it does not read.
func readEnd(path string, last time.Time) (string, time.Time, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_NOCTTY, 0)
	if err != nil {
		return "", time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", time.Time{}, errors.Join(err, errors.New("not a regular file"))
	}
	if !info.ModTime().After(last) {
		return "", info.ModTime(), nil
	}
	end := make([]byte, mostBeat)
	n, err := f.ReadAt(end, max(0, info.Size()-mostBeat))
	if n > 0 {
		err = nil
	}
	if info.Size() == 0 {
		return "", info.ModTime(), nil // it was touched
	}
	return string(end[:n]), info.ModTime(), err
}

// watchBeats tells the daemon of the heartbeats of runs that have files for them.
func (a *Agent) watchBeats(ctx context.Context) {
	tell := cmp.Or(a.welcome.Beats, tellBeats)
	looks := time.NewTicker(min(lookBeats, tell/4))
	defer looks.Stop()
	for next := time.Now().Add(tell); ; {
		select {
		case <-looks.C:
		case <-ctx.Done():
			return
		}
		for _, f := range a.beats.files() {
			go f.look()
		}
		if now := time.Now(); !now.Before(next) {
			next = now.Add(tell)
			if list := a.beats.read(now); len(list) > 0 {
				a.news.tellBeats(list)
			}
		}
	}
}

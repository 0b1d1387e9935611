package pmix

import (
	"slices"
	"time"
)

// Cleanup is what clients want to be removed when they have ended. Paths may be lists with commas
// between, as they came.
type Cleanup struct {
	Files   []string
	Dirs    []Dir
	Ignored []string // stay where they are found in a folder
}

// Dir is a folder that is emptied, and removed if that leaves nothing in it.
type Dir struct {
	Path      string
	Recursive bool // with the folders in it
	LeaveTop  bool // itself it stays
}

// Cleaner removes what clients leave behind.
type Cleaner interface {
	// Keep and Remove may be called concurrently for different owners. Keep records, where it
	// survives this process, what to remove for an owner, which is the number of a client or of the step.
	Keep(owner int, more Cleanup)
	// Remove removes all that an owner has asked for, and takes the note away.
	Remove(owner int, all Cleanup)
}

// ofStep owns what is removed at the end of the step.
const ofStep = 0

// maxCleanups bounds what clients of a node may ask to be removed: bytes of paths.
const maxCleanups = 4 << 20

// control takes a request of job control. It honors clean-up at an end; of everything else, like
// Slurm's mpi/pmix, nothing.
func (s *Server) control(u *unpacker) status {
	targets, list := u.procs(), u.infos()
	if u.bad {
		return badParam
	}
	c, asked, ok := cleanupOf(list)
	switch {
	case asked == 0:
		return notSupported
	case !ok:
		return badParam
	case s.step.Cleaner == nil:
		return notSupported
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cleaned {
		return notSupported
	}
	for _, owner := range s.owners(targets) {
		if st := s.add(owner, c); st != success {
			return st
		}
	}
	if asked < len(list) {
		return notSupported
	}
	return success
}

// cleanupOf is what directives ask to be removed, and how many of them do. False: one has a value
// of another type.
func cleanupOf(list []info) (c Cleanup, asked int, ok bool) {
	recursive, leave := false, false
	for _, i := range list {
		path, isPath := i.value.(string)
		asked++
		switch i.key {
		case "pmix.reg.cleanup":
			c.Files = append(c.Files, path)
		case "pmix.reg.cleanupdir":
			c.Dirs = append(c.Dirs, Dir{Path: path})
		case "pmix.clnup.ignore":
			c.Ignored = append(c.Ignored, path)
		case "pmix.clnup.recurse":
			recursive = i.truth()
			isPath = true
		case "pmix.clnup.lvtop":
			leave = i.truth()
			isPath = true
		default:
			asked--
			isPath = true
		}
		if !isPath {
			return Cleanup{}, asked, false
		}
	}
	for i := range c.Dirs {
		c.Dirs[i].Recursive, c.Dirs[i].LeaveTop = recursive, leave
	}
	return c, asked, true
}

// owners are those whose ends a request is about: of this node alone, and of a rank with several
// connections the first. The caller holds mu.
func (s *Server) owners(targets []proc) (list []int) {
	if len(targets) == 0 {
		return []int{ofStep}
	}
	for _, p := range targets {
		switch {
		case p.space != s.space:
		case p.rank == everybody:
			list = append(list, ofStep)
		case len(s.clients[p.rank]) > 0:
			list = append(list, s.clients[p.rank][0].number)
		}
	}
	return list
}

// add notes what is not noted yet. The caller holds mu.
func (s *Server) add(owner int, c Cleanup) status {
	all := s.cleanups[owner]
	if all == nil {
		all = &Cleanup{}
		s.cleanups[owner] = all
	}
	more := Cleanup{}
	for _, path := range c.Ignored {
		if !slices.Contains(all.Ignored, path) {
			more.Ignored = append(more.Ignored, path)
		}
	}
	ignored := append(slices.Clone(all.Ignored), more.Ignored...)
	for _, d := range c.Dirs {
		i := slices.IndexFunc(all.Dirs, func(o Dir) bool { return o.Path == d.Path })
		switch {
		case slices.Contains(ignored, d.Path):
			return conflicting
		case i < 0 || d.Recursive && !all.Dirs[i].Recursive || d.LeaveTop && !all.Dirs[i].LeaveTop:
			more.Dirs = append(more.Dirs, d)
		}
	}
	for _, path := range c.Files {
		switch {
		case slices.Contains(ignored, path):
			return conflicting
		case !slices.Contains(all.Files, path):
			more.Files = append(more.Files, path)
		}
	}
	if s.cleaning += more.size(); s.cleaning > maxCleanups {
		s.cleaning -= more.size()
		return outOfResource
	}
	if more.size() == 0 {
		return success
	}
	all.Merge(more)
	s.step.Cleaner.Keep(owner, more)
	return success
}

func (c *Cleanup) size() (n int) {
	for _, list := range [][]string{c.Files, c.Ignored} {
		for _, path := range list {
			n += len(path) + 1
		}
	}
	for _, d := range c.Dirs {
		n += len(d.Path) + 1
	}
	return n
}

// Merge adds to c what came later. Of a folder that is named again the wider wish counts.
func (c *Cleanup) Merge(more Cleanup) {
	c.Files, c.Ignored = append(c.Files, more.Files...), append(c.Ignored, more.Ignored...)
	for _, d := range more.Dirs {
		if i := slices.IndexFunc(c.Dirs, func(o Dir) bool { return o.Path == d.Path }); i >= 0 {
			c.Dirs[i].Recursive = c.Dirs[i].Recursive || d.Recursive
			c.Dirs[i].LeaveTop = c.Dirs[i].LeaveTop || d.LeaveTop
			continue
		}
		c.Dirs = append(c.Dirs, d)
	}
}

// enter and leave keep the list of connections.
func (s *Server) enter(k *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	k.number = s.number
	s.clients[k.rank] = append(s.clients[k.rank], k)
}

func (s *Server) leave(k *client) {
	s.mu.Lock()
	if s.clients[k.rank] = slices.DeleteFunc(s.clients[k.rank], func(o *client) bool { return o == k }); len(s.clients[k.rank]) == 0 {
		delete(s.clients, k.rank)
	}
	s.mu.Unlock()
	s.cleanUp(k.number)
}

// cleanUp removes what an owner has asked for.
func (s *Server) cleanUp(owner int) {
	s.mu.Lock()
	all := s.cleanups[owner]
	delete(s.cleanups, owner)
	if all != nil {
		s.cleaning -= all.size()
		s.removals.Add(1)
	}
	s.mu.Unlock()
	if all != nil {
		s.step.Cleaner.Remove(owner, *all)
		s.removals.Done()
	}
}

// cleanUpTime is how long the end of a step waits for removals.
const cleanUpTime = time.Minute

// CleanUp removes what clients have asked to be removed at the end of the step, and what is left of
// those whose ends were not seen yet. No process of the step lives. False: it goes on after a
// minute, and the end of the step does not wait for it.
func (s *Server) CleanUp() bool {
	done := make(chan struct{})
	go func() {
		s.cleanUpAll()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(cleanUpTime):
		return false
	}
}

func (s *Server) cleanUpAll() {
	s.mu.Lock()
	s.cleaned = true
	var owners []int
	for owner := range s.cleanups {
		owners = append(owners, owner)
	}
	s.mu.Unlock()
	slices.Sort(owners)
	slices.Reverse(owners) // the step's own last
	for _, owner := range owners {
		s.cleanUp(owner)
	}
	s.removals.Wait()
}

package pmix

import (
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fence is one that some of this node wait at.
type fence struct {
	nodes []int              // that take part
	ranks []rank             // of this node
	wait  map[rank][]request // of each, in the order of their coming
	told  bool               // the others know that all of this node wait
	timer *time.Timer        // until all of this node wait; nil: they may take as long as they like
}

type request struct {
	k   *client
	tag uint32
}

// Scopes of what is put.
const (
	forLocal  = 1
	forRemote = 2
)

// commit keeps what a rank has put: pairs, as they are packed.
func (s *Server) commit(r rank, u *unpacker) status {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.own[r]
	if p == nil {
		p = &puts{}
		s.own[r] = p
	}
	for len(u.b) > 0 {
		u.count()
		scope := u.byte()
		u.count()
		u.byte() // how it is packed: as all is
		data := u.take(u.size())
		switch {
		case u.bad:
			return badParam
		case scope == forLocal:
			p.local = append(p.local, data...)
		case scope == forRemote:
			p.remote = append(p.remote, data...)
			p.unsent = true
		}
	}
	s.answerGets()
	s.tellAsked(r, p)
	return success
}

// fence records that a client waits. With the last of this node it tells the other nodes.
func (s *Server) fence(k *client, tag uint32, u *unpacker) status {
	ranks, st := s.ranksOf(u.procs())
	patience := seconds(u.infos())
	if st != success {
		return st
	}
	u.bad = false // of all types that values may have not every one is known here
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	if !slices.Contains(ranks, k.rank) {
		return badParam
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.fenceID(ranks)
	f := s.fences[id]
	if f == nil {
		f = s.newFence(ranks)
		s.fences[id] = f
	}
	if f.timer == nil && !f.told && patience > 0 {
		f.timer = time.AfterFunc(time.Duration(patience)*time.Second, func() { s.giveUp(id, f) })
	}
	f.wait[k.rank] = append(f.wait[k.rank], request{k, tag})
	s.tell(id, f)
	return success
}

// ranksOf are those that take part in a fence.
func (s *Server) ranksOf(procs []proc) (ranks []rank, st status) {
	for _, p := range procs {
		switch {
		case p.space != s.space:
			return nil, notSupported // steps cannot be joined
		case p.rank == everybody:
			for r := range s.where {
				ranks = append(ranks, r)
			}
			continue
		}
		if _, ok := s.where[p.rank]; !ok {
			return nil, badParam
		}
		ranks = append(ranks, p.rank)
	}
	return ranks, success
}

// giveUp ends a fence that some of this node do not come to. As with PMIx's own server that is all
// that a client's timeout is for: other nodes are waited for.
func (s *Server) giveUp(id string, f *fence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.told || s.fences[id] != f {
		return
	}
	delete(s.fences, id)
	for _, list := range f.wait {
		for _, q := range list {
			go q.k.say(q.tag, timedOut)
		}
	}
}

// fenceID names a fence by who takes part: "" is for all.
func (s *Server) fenceID(ranks []rank) string {
	if len(ranks) == s.size {
		return ""
	}
	var id strings.Builder
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		id.WriteString(strconv.Itoa(int(ranks[i])) + "-" + strconv.Itoa(int(ranks[j])) + ",")
		i = j + 1
	}
	return id.String()
}

func (s *Server) newFence(ranks []rank) *fence {
	f := &fence{wait: map[rank][]request{}}
	for _, r := range ranks {
		node := s.where[r]
		if !slices.Contains(f.nodes, node) {
			f.nodes = append(f.nodes, node)
		}
		if node == s.step.Node {
			f.ranks = append(f.ranks, r)
		}
	}
	slices.Sort(f.nodes)
	return f
}

// tell tells the other nodes of a fence if all of this one are there. The caller holds mu.
func (s *Server) tell(id string, f *fence) {
	if f.told || slices.ContainsFunc(f.ranks, func(r rank) bool { return len(f.wait[r]) == 0 }) {
		return
	}
	f.told = true
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	var data []byte
	for _, r := range f.ranks {
		p := s.own[r]
		if p == nil { // the others are to know that it has put nothing
			p = &puts{unsent: true}
			s.own[r] = p
		}
		if !p.unsent {
			continue
		}
		data = binary.AppendUvarint(data, uint64(r))
		data = binary.AppendUvarint(data, uint64(len(p.remote)))
		data = append(data, p.remote...)
		p.unsent = id != "" // nodes that do not take part know nothing of it
	}
	nodes := f.nodes
	if id == "" {
		nodes = nil
	}
	s.up.Fence(id, nodes, data)
}

var errFenced = errors.New("mpi/pmix: what another node has sent cannot be read")

// Fenced ends a fence: data is what the nodes that take part gave to Up.Fence, one after the other.
func (s *Server) Fenced(id string, data []byte) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(data) > 0 && err == nil {
		var head [2]uint64
		for i := range head {
			n, size := binary.Uvarint(data)
			if size <= 0 {
				return errFenced
			}
			head[i], data = n, data[size:]
		}
		if head[1] > uint64(len(data)) {
			return errFenced
		}
		if r := rank(head[0]); uint64(r) == head[0] {
			s.learn(r, data[:head[1]])
		}
		data = data[head[1]:]
	}
	s.answerGets()
	f := s.fences[id]
	if f == nil || !f.told {
		return nil
	}
	f.told = false
	again := false
	for _, r := range f.ranks {
		q := f.wait[r][0]
		f.wait[r] = f.wait[r][1:]
		again = again || len(f.wait[r]) > 0
		go q.k.say(q.tag, success)
	}
	if !again {
		delete(s.fences, id)
		return nil
	}
	s.tell(id, f)
	return nil
}

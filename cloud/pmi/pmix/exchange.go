package pmix

import (
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// fence is one that some of this node wait at.
type fence struct {
	nodes []int              // that take part
	ranks []rank             // of this node
	wait  map[rank][]request // of each, in the order of their coming
	told  bool               // the others know that all of this node wait
}

type request struct {
	k   *client
	tag uint32
}

// get is a request that waits for what a rank will put.
type get struct {
	request
	rank rank
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
	return success
}

// fence notes that a client waits. With the last of this node the other nodes are told.
func (s *Server) fence(k *client, tag uint32, u *unpacker) status {
	u.count()
	n := u.size()
	u.count()
	var ranks []rank
	for range min(n, uint64(len(u.b))) {
		space, r := u.string(), rank(u.uint32())
		switch {
		case u.bad:
			return badParam
		case space != s.space:
			return notSupported // steps cannot be joined
		case r == everybody:
			for r := range s.where {
				ranks = append(ranks, r)
			}
			continue
		}
		if _, ok := s.where[r]; !ok {
			return badParam
		}
		ranks = append(ranks, r)
	}
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
	f.wait[k.rank] = append(f.wait[k.rank], request{k, tag})
	s.tell(id, f)
	return success
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
			s.others[r] = slices.Clone(data[:head[1]])
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

// get answers with all that a rank has put, at once or when it is there.
func (s *Server) get(k *client, tag uint32, u *unpacker) {
	u.count()
	space := u.string()
	u.count()
	r := rank(u.uint32())
	u.count()
	n := u.size()
	immediate := false
	if n > 0 {
		u.count()
		immediate = strings.Contains(string(u.b), "pmix.immediate\x00") // among the names of what it wants; of what follows nothing is of use
	}
	g := get{request{k, tag}, r}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.where[r]; u.bad || space != s.space || !known {
		go k.say(tag, notFound)
		return
	}
	switch {
	case s.answerGet(g):
	case immediate:
		go k.say(tag, notFound)
	default:
		s.gets = append(s.gets, g)
	}
}

// answerGet is false if its rank has put nothing. The caller holds mu.
func (s *Server) answerGet(g get) bool {
	data, ok := s.others[g.rank]
	if s.where[g.rank] == s.step.Node {
		p := s.own[g.rank]
		if ok = p != nil; ok {
			data = p.local
		}
	}
	if !ok {
		return false
	}
	b := append(appendProc(nil, s.space, g.rank), data...)
	go g.k.send(g.tag, appendBytes(one(appendStatus(nil, success)), b))
	return true
}

// answerGets answers those that can be. The caller holds mu.
func (s *Server) answerGets() { s.gets = slices.DeleteFunc(s.gets, s.answerGet) }

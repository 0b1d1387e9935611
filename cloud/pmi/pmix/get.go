package pmix

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"
)

// get is a request that waits for what a rank will put.
type get struct {
	request
	rank  rank
	key   string // "": whatever it has put
	asked uint64 // which question to the rank's node was for it
	timer *time.Timer
}

// How long a request waits that does not say it: as long as PMIx's server lets it wait for a rank
// of the same node that has put other things, and as long as Slurm's mpi/pmix waits for another node.
const (
	waitHere  = 2 * time.Second
	waitThere = 5 * time.Minute
)

// get answers with all that a rank has put, at once or when it is there. An error of what cannot be
// there is an answer too.
func (s *Server) get(k *client, tag uint32, u *unpacker) {
	u.count()
	space := u.string()
	u.count()
	r := rank(u.uint32())
	bad := u.bad
	list := u.infos()
	u.count()
	key := u.string()
	if u.bad { // directives of a type that is not known, or no key, as PMIx 3 has it
		u.bad, key = bad, ""
	}
	immediate := slices.ContainsFunc(list, func(i info) bool { return i.key == "pmix.immediate" && i.truth() })
	g := &get{request: request{k, tag}, rank: r, key: key}
	s.mu.Lock()
	defer s.mu.Unlock()
	node, known := s.where[r]
	switch {
	case bad || space != s.space || !known:
		go k.say(tag, notFound)
	case s.answerGet(g):
	case immediate:
		go k.say(tag, notFound)
	default:
		s.gets = append(s.gets, g)
		g.timer = time.AfterFunc(s.patience(g, seconds(list)), func() { s.giveUpGet(g) })
		if node != s.step.Node {
			s.asking++
			g.asked = s.asking
			s.up.Send(node, aboutRank(asks, r, g.asked))
		}
	}
}

// patience is how long a request waits. The caller holds mu.
func (s *Server) patience(g *get, asked int64) time.Duration {
	switch {
	case asked > 0:
		return time.Duration(min(asked, 1<<31)) * time.Second
	case g.k.rank == g.rank || s.own[g.rank] != nil: // it is not to be expected any more
		return waitHere
	}
	return waitThere
}

func (s *Server) giveUpGet(g *get) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.gets, g); i >= 0 {
		s.gets = slices.Delete(s.gets, i, i+1)
		go g.k.say(g.tag, timedOut)
	}
}

// answerGet returns false if the rank has not put the key. The caller holds mu.
func (s *Server) answerGet(g *get) bool {
	data, ok := s.others[g.rank]
	if s.where[g.rank] == s.step.Node {
		p := s.own[g.rank]
		if ok = p != nil; ok {
			data = p.local
		}
	}
	if !ok || !has(data, g.key) {
		return false
	}
	if g.timer != nil {
		g.timer.Stop()
	}
	b := append(appendProc(nil, s.space, g.rank), data...)
	go g.k.send(g.tag, appendBytes(one(appendStatus(nil, success)), b))
	return true
}

// has tells whether a key is among what a rank has put. A value that looks like it does no harm:
// the client looks for itself.
func has(data []byte, key string) bool {
	return key == "" || bytes.Contains(data, appendString(one(nil), key))
}

// answerGets answers those that can be. The caller holds mu.
func (s *Server) answerGets() { s.gets = slices.DeleteFunc(s.gets, s.answerGet) }

// learn keeps what a rank of another node has put. It puts ever more, and what was sent later may
// come earlier. The caller holds mu.
func (s *Server) learn(r rank, data []byte) {
	if have, ok := s.others[r]; !ok || len(data) > len(have) {
		s.others[r] = slices.Clone(data)
	}
}

// What nodes say to each other: one byte, the rank that it is about, the number of the question,
// and what the rank has put.
const (
	asks  = 'a'
	tells = 't'
)

func aboutRank(what byte, r rank, question uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint([]byte{what}, uint64(r)), question)
}

// tellAsked tells the nodes that have asked before a rank had put anything. The caller holds mu.
func (s *Server) tellAsked(r rank, p *puts) {
	for node, question := range s.asked[r] {
		s.up.Send(node, append(aboutRank(tells, r, question), p.remote...))
	}
	delete(s.asked, r)
}

// Receive takes what another node's Server has given to Up.Send. Nothing: that node has ended, and
// answers no more.
func (s *Server) Receive(node int, data []byte) error {
	if len(data) == 0 {
		s.gone(node)
		return nil
	}
	what, data := data[0], data[1:]
	var head [2]uint64
	for i := range head {
		n, size := binary.Uvarint(data)
		if size <= 0 {
			return errFenced
		}
		head[i], data = n, data[size:]
	}
	r, question := rank(head[0]), head[1]
	s.mu.Lock()
	defer s.mu.Unlock()
	switch at, known := s.where[r]; {
	case uint64(r) != head[0] || !known:
		return errFenced
	case what == asks && at == s.step.Node:
		if s.asked[r] == nil {
			s.asked[r] = map[int]uint64{}
		}
		s.asked[r][node] = max(s.asked[r][node], question)
		if p := s.own[r]; p != nil {
			s.tellAsked(r, p)
		}
	case what == tells && at == node:
		s.learn(r, data)
		s.answerGets()
		s.forgo(r, question)
	default:
		return errFenced
	}
	return nil
}

// gone ends what waits for a node.
func (s *Server) gone(node int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if node != s.step.Node && node >= 0 && node < len(s.step.Ranks) {
		for _, r := range s.step.Ranks[node] {
			s.forgo(rank(r), s.asking)
		}
	}
}

// forgo ends waits for keys that a rank had not put when it was asked. The caller holds mu.
func (s *Server) forgo(r rank, question uint64) {
	s.gets = slices.DeleteFunc(s.gets, func(g *get) bool {
		if g.rank != r || g.asked > question {
			return false
		}
		g.timer.Stop()
		go g.k.say(g.tag, notFound)
		return true
	})
}

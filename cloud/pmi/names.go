package pmi

import "encoding/binary"

// Names of ports (MPI_Publish_name) are kept by the step's first node, as srun keeps them with
// mpi/pmi2 of Slurm: tasks of the step find them, others do not.

// maxNames bounds how many the first node keeps.
const maxNames = 1024

// What nodes say to each other of names: one byte, the number of the question, and a pair.
const (
	publishes   = 'p' // name and port
	unpublishes = 'u' // name
	looksUp     = 'l' // name
	answers     = 'a' // "ok" or nothing, and port
)

// named is the answer to a question of a name.
type named struct {
	port string
	ok   bool
}

// name publishes, unpublishes or looks up.
func (k *client) name(what byte, name, port string) (named, error) {
	s := k.s
	if s.step.Node == 0 {
		return s.names(what, name, port), nil
	}
	c := make(chan named, 1)
	s.mu.Lock()
	s.question++
	id := s.question
	s.questions[id] = c
	s.mu.Unlock()
	s.up.Send(0, aboutName(what, id, name, port))
	select {
	case a := <-c:
		return a, nil
	case <-s.closed:
		return named{}, errClosed
	}
}

func aboutName(what byte, id uint64, name, port string) []byte {
	return appendPair(binary.AppendUvarint([]byte{what}, id), name, port)
}

// names serves a request to the first node. Unpublishing an unknown name is not an error; a name
// that is published again has the new port.
func (s *Server) names(what byte, name, port string) named {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch what {
	case publishes:
		if _, have := s.ports[name]; !have && len(s.ports) == maxNames || name == "" || len(name) > maxValue || len(port) > maxValue {
			return named{}
		}
		s.ports[name] = port
		return named{ok: true}
	case unpublishes:
		delete(s.ports, name)
		return named{ok: true}
	}
	port, ok := s.ports[name]
	return named{port, ok}
}

// Receive takes what another node's Server has given to Up.Send. Nothing: that node has ended, and
// answers no more.
func (s *Server) Receive(node int, data []byte) error {
	if len(data) == 0 {
		if node == 0 {
			s.answered(0, named{})
		}
		return nil
	}
	id, size := binary.Uvarint(data[1:])
	if size <= 0 {
		return errPairs
	}
	var first, second string
	pairs := 0
	err := eachPair(data[1+size:], func(key, value string) { first, second, pairs = key, value, pairs+1 })
	switch what := data[0]; {
	case err != nil || pairs != 1:
		return errPairs
	case what == answers:
		s.answered(id, named{second, first != ""})
	case what != publishes && what != unpublishes && what != looksUp || s.step.Node != 0:
		return errPairs
	default:
		a := s.names(what, first, second)
		ok := ""
		if a.ok {
			ok = "ok"
		}
		s.up.Send(node, aboutName(answers, id, ok, a.port))
	}
	return nil
}

// answered hands a response to the task that waits for it; 0: to all.
func (s *Server) answered(id uint64, a named) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range s.questions {
		if id == 0 || i == id {
			c <- a // it has room for the only answer
			delete(s.questions, i)
		}
	}
}

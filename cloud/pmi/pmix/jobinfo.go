package pmix

import (
	"encoding/binary"
	"path/filepath"
	"strconv"
	"strings"
)

// jobInfo is all that clients of this node learn about their step: first about the whole, then
// about each rank.
func (s *Server) jobInfo() []byte {
	st := &s.step
	own := st.Ranks[st.Node]
	var local []string
	for _, r := range own {
		local = append(local, strconv.Itoa(r))
	}
	size, here := uint32(s.size), uint32(len(own))
	leader := rank(0)
	if len(own) > 0 {
		leader = rank(own[0])
	}
	b := appendString(one(nil), s.space)
	for _, p := range [...]struct {
		key   string
		value any
	}{
		{"pmix.jobid", st.ID}, {"pmix.job.size", size}, {"pmix.univ.size", size}, {"pmix.max.size", size}, {"pmix.app.size", size}, {"pmix.job.napps", uint32(1)},
		{"pmix.offset", rank(0)}, {"pmix.spawned", false}, {"pmix.num.nodes", uint32(len(st.Hosts))}, {"pmix.nlist", strings.Join(st.Hosts, ",")},
		{"pmix.local.size", here}, {"pmix.node.size", here}, {"pmix.lpeers", strings.Join(local, ",")}, {"pmix.lldr", leader},
		{"pmix.tmpdir", st.Dir}, {"pmix.nsdir", filepath.Join(st.Dir, "job")}, {"pmix.tdir.rmclean", true},
	} {
		b = appendPair(b, p.key, p.value)
	}
	for node, ranks := range st.Ranks {
		for i, r := range ranks {
			b = appendPair(b, "pmix.pblob", s.rankInfo(node, i, rank(r)))
		}
	}
	return b
}

// rankInfo is the information about one rank, the i-th of its node.
func (s *Server) rankInfo(node, i int, r rank) []byte {
	b := binary.BigEndian.AppendUint32(one(nil), uint32(r))
	for _, p := range [...]struct {
		key   string
		value any
	}{
		{"pmix.hname", s.step.Hosts[node]}, {"pmix.nodeid", uint32(node)}, {"pmix.lrank", uint16(i)}, {"pmix.nrank", uint16(i)}, {"pmix.rank", r},
		{"pmix.grank", r}, {"pmix.apprank", r}, {"pmix.appnum", uint32(0)}, {"pmix.aldr", rank(0)},
		{"pmix.pdir", filepath.Join(s.step.Dir, "job", strconv.Itoa(int(r)))},
	} {
		b = appendPair(b, p.key, p.value)
	}
	return b
}

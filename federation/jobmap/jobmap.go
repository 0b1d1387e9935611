// Package jobmap is a map by job ID for as many jobs as there are: a [Map] keeps what belongs to IDs that follow each other together, so that a million of them
// take a quarter of the memory that a map of Go takes, and few far apart not much more.
package jobmap

import (
	"iter"
	"math/bits"

	"fsub/federation"
)

// Map is a map by job ID. Its zero value is empty and ready to use. It must not be copied once it is used, nor be changed by two goroutines at a time, or by one while others read it.
type Map[V any] struct {
	pages map[federation.JobID]*page[V] // by their IDs, without the low bits
	n     int
}

// page holds the values of 64 IDs.
type page[V any] struct {
	has    uint64 // bits of the IDs that have one
	values []V    // theirs, in order
}

const (
	pageBits = 6
	inPage   = 1<<pageBits - 1
)

// at is the bit of an ID in a page, and where its value stands, or would.
func (p *page[V]) at(id federation.JobID) (bit uint64, i int) {
	bit = 1 << (id & inPage)
	return bit, bits.OnesCount64(p.has & (bit - 1))
}

// Get returns an ID's value, and whether it has one.
func (m *Map[V]) Get(id federation.JobID) (v V, ok bool) {
	p := m.pages[id>>pageBits]
	if p == nil {
		return v, false
	}
	bit, i := p.at(id)
	if p.has&bit == 0 {
		return v, false
	}
	return p.values[i], true
}

// Of returns an ID's value; the zero value if it has none.
func (m *Map[V]) Of(id federation.JobID) V {
	v, _ := m.Get(id)
	return v
}

// Set gives an ID a value.
func (m *Map[V]) Set(id federation.JobID, v V) {
	p := m.pages[id>>pageBits]
	if p == nil {
		if m.pages == nil {
			m.pages = map[federation.JobID]*page[V]{}
		}
		p = &page[V]{}
		m.pages[id>>pageBits] = p
	}
	bit, i := p.at(id)
	if p.has&bit != 0 {
		p.values[i] = v
		return
	}
	p.values = append(p.values, v)
	copy(p.values[i+1:], p.values[i:])
	p.values[i] = v
	p.has |= bit
	m.n++
}

// Delete takes an ID's value away, if it has one.
func (m *Map[V]) Delete(id federation.JobID) {
	p := m.pages[id>>pageBits]
	if p == nil {
		return
	}
	bit, i := p.at(id)
	if p.has&bit == 0 {
		return
	}
	m.n--
	if p.has &^= bit; p.has == 0 {
		delete(m.pages, id>>pageBits)
		return
	}
	last := copy(p.values[i:], p.values[i+1:]) + i
	clear(p.values[last:])
	p.values = p.values[:last]
	if 4*last <= cap(p.values) { // the few that are left of many do not hold their memory
		p.values = append([]V(nil), p.values...)
	}
}

// Len is how many IDs have a value.
func (m *Map[V]) Len() int { return m.n }

// All goes through all values, in no order. As with a map, they may be changed meanwhile: what is deleted before its turn is not seen, what is added may be.
func (m *Map[V]) All() iter.Seq2[federation.JobID, V] {
	return func(yield func(federation.JobID, V) bool) {
		for number, p := range m.pages {
			for id := number << pageBits; ; id++ {
				if bit, i := p.at(id); p.has&bit != 0 && !yield(id, p.values[i]) {
					return
				}
				if id&inPage == inPage {
					break
				}
			}
		}
	}
}

// IDs goes through the IDs that have a value, as All does.
func (m *Map[V]) IDs() iter.Seq[federation.JobID] {
	return func(yield func(federation.JobID) bool) {
		for id := range m.All() {
			if !yield(id) {
				return
			}
		}
	}
}

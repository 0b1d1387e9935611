package local

import (
	"errors"
	"fmt"
	"hash/fnv"
)

// network is a bridge with a machine's link each.
type network struct{}

func (p *Provider) openNetwork() error {
	switch p.cfg.Network {
	case "", NetworkHost:
		return nil
	case NetworkNamespace:
		return errors.New("network: namespace: not there yet")
	}
	return fmt.Errorf("network: %q is neither host nor namespace", p.cfg.Network)
}

func (n *network) inside(addr string) []string     { return nil }
func (n *network) link(addr string, pid int) error { return nil }

// freeAddr finds a machine's address: out of a /16 of 127.0.0.0/8 that comes from the directory's name, so that providers of several daemons rarely meet.
// Where they do their machines share an address, which does no harm as long as they do not want the same ports.
func (p *Provider) freeAddr(used map[string]bool) (string, error) {
	h := fnv.New32a()
	h.Write([]byte(p.cfg.Dir))
	block := 1 + h.Sum32()%253 // 127.0 has the resolver's 127.0.0.53
	for n := range 250 * 250 {
		addr := fmt.Sprintf("127.%d.%d.%d", block, n/250, 1+n%250)
		if !used[addr] {
			return addr, nil
		}
	}
	return "", errors.New("no address is left")
}

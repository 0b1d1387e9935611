package sbatch

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest tells scripts apart, with their arguments: payloads with the same one run the same. It is 16 hexadecimal digits.
func (p *Payload) Digest() string {
	h := sha256.New()
	for _, text := range append([]string{p.Script}, p.Argv...) {
		h.Write([]byte(text))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Size is how many bytes the script, the arguments and the environment have, each string with the NUL at its end.
func (p *Payload) Size() int {
	n := len(p.Script)
	for _, list := range [...][]string{p.Argv, p.Environment} {
		for _, text := range list {
			n += len(text) + 1
		}
	}
	return n
}

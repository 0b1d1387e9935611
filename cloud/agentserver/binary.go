package agentserver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"fsub/federation"
)

// binary is the agent's binary and its hash, which is computed again when the file has changed.
type binary struct {
	path string

	mu       sync.Mutex
	size     int64
	modified time.Time
	sum      string
}

func (b *binary) hash() (string, error) {
	f, err := b.open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	return b.hashOf(f)
}

func (b *binary) open() (*os.File, error) {
	if b.path == "" {
		return nil, errors.New("none is configured")
	}
	return os.Open(b.path)
}

func (b *binary) hashOf(f *os.File) (string, error) {
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sum != "" && st.Size() == b.size && st.ModTime().Equal(b.modified) {
		return b.sum, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	b.size, b.modified, b.sum = st.Size(), st.ModTime(), hex.EncodeToString(h.Sum(nil))
	return b.sum, nil
}

// sendBinary sends the agent's binary to anybody who names its hash. The binary is not secret, and a machine
// that fetches it has only its one-time token, which must not be used for this.
func (s *Server) sendBinary(w http.ResponseWriter, r *http.Request) error {
	f, err := s.binary.open()
	if err != nil {
		return fmt.Errorf("%w: the agent's binary: %w", federation.ErrNotFound, err)
	}
	defer f.Close()
	hash, err := s.binary.hashOf(f)
	if err != nil {
		return err
	}
	if r.PathValue("hash") != hash {
		return fmt.Errorf("%w: the agent's binary has changed", federation.ErrNotFound)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}

package signin

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/records"
)

// Seal proves that a ticket was made by a daemon of the store, and says until when it is good.
type Seal struct {
	Until int64  `json:"until"` // seconds since 1970
	MAC   []byte `json:"mac"`
}

// macSize is how much of a SHA-256 is in a seal.
const macSize = 16

func sealOf(key []byte, user, hash string, until time.Time) Seal {
	s := Seal{Until: until.Unix()}
	s.MAC = s.mac(key, user, hash)
	return s
}

func (s Seal) mac(key []byte, user, hash string) []byte {
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%s %s %d", user, hash, s.Until)
	return m.Sum(nil)[:macSize]
}

func (s Seal) good(key []byte, user, hash string, now time.Time) bool {
	return now.Unix() <= s.Until && hmac.Equal(s.MAC, s.mac(key, user, hash))
}

// The text of a ticket is the user's name, a dot, the secret, and the seal: of fixed lengths, so that nothing but the dot has to be found.
const (
	secretLength = 43 // 256 bits
	untilLength  = 8  // hexadecimal digits
	macLength    = 22
)

func (s Seal) text() string {
	return fmt.Sprintf("%0*x%s", untilLength, s.Until, base64.RawURLEncoding.EncodeToString(s.MAC))
}

// ReadTicket takes the text of a ticket apart: whose it is, its secret, and its seal.
func ReadTicket(text string) (user, secret string, seal Seal, ok bool) {
	dot := strings.LastIndexByte(text, '.')
	if dot < 1 || len(text) != dot+1+secretLength+untilLength+macLength {
		return "", "", seal, false
	}
	rest := text[dot+1:]
	until, err := strconv.ParseInt(rest[secretLength:secretLength+untilLength], 16, 64)
	if err != nil {
		return "", "", seal, false
	}
	mac, err := base64.RawURLEncoding.DecodeString(rest[secretLength+untilLength:])
	return text[:dot], rest[:secretLength], Seal{until, mac}, err == nil
}

// key is what tickets are signed with: made once, and kept in the store for all daemons that share it. By itself it opens nothing, for a ticket has to be in the store too.
type key struct {
	kept records.Set[keyRecord]

	mu    sync.Mutex
	known []byte
}

// keyRecord is the key as it is stored: the only one of its kind.
type keyRecord struct {
	Owner string `json:"owner"`
	Name  string `json:"name"`
	Key   []byte `json:"key"`
}

const (
	keyOwner = "daemon"
	keyName  = "tickets"
)

func (k *key) get(ctx context.Context) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known != nil {
		return k.known, nil
	}
	r, err := k.kept.Find(ctx, keyOwner, keyName)
	if errors.Is(err, federation.ErrNotFound) { // only the daemon that leads comes here: nobody else makes one at the same time
		r = keyRecord{Owner: keyOwner, Name: keyName, Key: make([]byte, 32)}
		_, _ = rand.Read(r.Key) // it never fails
		err = k.kept.Put(ctx, &r)
	}
	if err != nil {
		return nil, err
	}
	k.known = r.Key
	return k.known, nil
}

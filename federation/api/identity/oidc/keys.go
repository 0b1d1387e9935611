package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

// algorithms are those of providers' keys: none that has a secret which the client shares.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// errNoAnswer: the keys cannot be had now.
var errNoAnswer = errors.New("the provider does not tell its keys")

// keySet is a provider's keys. They are asked for again when a token names another one, but not for each token that does, as anybody may make some.
type keySet struct {
	http *http.Client
	now  func() time.Time

	mu    sync.Mutex
	url   string
	keys  []jose.JSONWebKey
	asked time.Time
	err   error // of the last time
}

func (s *keySet) at(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.url = url
}

// VerifySignature implements oidc.KeySet.
func (s *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	all := make([]jose.SignatureAlgorithm, len(algorithms))
	for i, a := range algorithms {
		all[i] = jose.SignatureAlgorithm(a)
	}
	j, err := jose.ParseSigned(token, all)
	if err != nil {
		return nil, err
	}
	if len(j.Signatures) != 1 {
		return nil, errors.New("not one signature")
	}
	id := j.Signatures[0].Header.KeyID
	keys, err := s.named(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if payload, err := j.Verify(k.Key); err == nil {
			return payload, nil
		}
	}
	return nil, errors.New("signed by none of the provider's keys")
}

// named are the keys of a name, all of them if it is "".
func (s *keySet) named(ctx context.Context, id string) (found []jose.JSONWebKey, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for _, k := range s.keys {
			if (id == "" || k.KeyID == id) && k.IsPublic() {
				found = append(found, k)
			}
		}
		if len(found) > 0 || s.now().Sub(s.asked) < askAgain {
			if len(s.keys) == 0 && s.err != nil {
				return nil, s.err
			}
			return found, nil
		}
		s.asked = s.now()
		if s.err = s.ask(context.WithoutCancel(ctx)); s.err != nil {
			return nil, s.err
		}
	}
}

const mostKeys = 1 << 20

func (s *keySet) ask(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	resp, err := s.http.Do(r)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	defer resp.Body.Close()
	var set jose.JSONWebKeySet
	if err := json.NewDecoder(io.LimitReader(resp.Body, mostKeys)).Decode(&set); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: status %d, %w", errNoAnswer, resp.StatusCode, err)
	}
	s.keys = set.Keys
	return nil
}

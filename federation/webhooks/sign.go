package webhooks

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Secret is a key that requests are signed with, sealed.
type Secret struct {
	Sealed []byte
	Until  time.Time `json:",omitzero"` // it signs no more then; zero: for good
}

// How long the secret before the newest signs too, so that its owner can take up the new one.
const rotation = 24 * time.Hour

const prefix = "whsec_"

// newSecret makes a secret in the words of Standard Webhooks: 32 random bytes.
func newSecret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // it never fails
	return prefix + base64.StdEncoding.EncodeToString(b)
}

// sign returns the header webhook-signature: a signature by each secret.
func sign(secrets []string, id string, at time.Time, body []byte) string {
	var all []string
	for _, s := range secrets {
		k, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, prefix))
		if err != nil {
			continue
		}
		m := hmac.New(sha256.New, k)
		fmt.Fprintf(m, "%s.%s.%s", id, strconv.FormatInt(at.Unix(), 10), body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(m.Sum(nil)))
	}
	return strings.Join(all, " ")
}

// Box seals secrets: who reads the store cannot sign.
type Box struct{ aead cipher.AEAD }

// NewBox returns a box with a key of 32 bytes.
func NewBox(key []byte) (*Box, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &Box{aead}, err
}

func (b *Box) seal(owner, name, text string) []byte {
	return b.aead.Seal(nil, nil, []byte(text), []byte(owner+"/"+name))
}

func (b *Box) open(owner, name string, sealed []byte) (string, error) {
	text, err := b.aead.Open(nil, nil, sealed, []byte(owner+"/"+name))
	if err != nil {
		return "", fmt.Errorf("the secret of webhook %s of %s was sealed with another key (webhooks.key in state_dir): run: fed webhook rotate %[1]s", name, owner)
	}
	return string(text), nil
}

// Rotate gives an endpoint a new secret, which it returns. The one before it goes on signing beside it for a day.
func (b *Box) Rotate(d *Definition, now time.Time) string {
	text := newSecret()
	if len(d.Secrets) > 0 {
		d.Secrets = d.Secrets[:1]
		d.Secrets[0].Until = now.Add(rotation)
	}
	d.Secrets = append([]Secret{{Sealed: b.seal(d.Owner, d.Name, text)}}, d.Secrets...)
	return text
}

// secrets are those that sign now.
func (b *Box) secrets(d *Definition, now time.Time) (all []string, err error) {
	for _, s := range d.Secrets {
		if !s.Until.IsZero() && !now.Before(s.Until) {
			continue
		}
		text, err := b.open(d.Owner, d.Name, s.Sealed)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

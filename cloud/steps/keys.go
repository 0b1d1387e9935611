package steps

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"math/big"
	"time"
)

// keys are what the nodes of a gang know each other by.
type keys struct {
	name   string // by which a caller says which gang it is of
	public ed25519.PublicKey
	cert   tls.Certificate
}

// newKeys derives the gang's certificate from its key. All of its nodes have the same one and take no other.
func newKeys(key []byte, run string) (*keys, error) {
	if len(key) < 16 {
		return nil, errors.New("the gang's key is shorter than 16 bytes")
	}
	private := ed25519.NewKeyFromSeed(derive(key, "steps certificate 1"))
	public := private.Public().(ed25519.PublicKey)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0)}
	der, err := x509.CreateCertificate(nil, &template, &template, public, private)
	if err != nil {
		return nil, err
	}
	return &keys{
		name:   hex.EncodeToString(derive(key, "steps name 1 "+run)[:16]),
		public: public,
		cert:   tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private},
	}, nil
}

func derive(key []byte, what string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(what))
	return h.Sum(nil)
}

// config is for both ends of a connection.
func (k *keys) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{k.cert}, ServerName: k.name,
		ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true, VerifyConnection: k.verify, // the key is pinned instead
		SessionTicketsDisabled: true, DynamicRecordSizingDisabled: true,
	}
}

func (k *keys) verify(c tls.ConnectionState) error {
	if len(c.PeerCertificates) == 1 {
		if public, ok := c.PeerCertificates[0].PublicKey.(ed25519.PublicKey); ok && bytes.Equal(public, k.public) {
			return nil
		}
	}
	return errors.New("the other side is not of this gang")
}

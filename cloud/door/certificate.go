package door

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
)

// Pin is what agents know the door's certificate by: the SHA-256 of its public key, in base64, as curl's --pinnedpubkey has it after "sha256//". A
// certificate that is made anew with the same key keeps it.
func Pin(c tls.Certificate) (string, error) {
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		return "", fmt.Errorf("the door's certificate: %w", err)
	}
	sum := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:]), nil
}

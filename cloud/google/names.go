package google

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"fsub/cloud/provider"
	"fsub/federation"
)

// The labels of everything of ours.
const (
	LabelFederation = "fsub-federation"
	LabelSite       = "fsub-site"
)

// LabelValue is s as a label can hold it: itself where it may, else a hash.
func LabelValue(s string) string {
	bad := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}
	if len(s) <= 63 && !strings.ContainsFunc(s, bad) {
		return s
	}
	return "h-" + Hash(s)[:32]
}

// Hash is one of several texts, as hexadecimal digits.
func Hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// RequestID is the ID of a gang's request, a UUID: asked again it is the same operation.
func RequestID(federation string, site federation.SiteName, token string) string {
	h := Hash("request", federation, string(site), token)
	return h[:8] + "-" + h[8:12] + "-5" + h[13:16] + "-a" + h[17:20] + "-" + h[20:32]
}

// Base is the last part of a URL or path.
func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Without takes a secret out of what Google echoes of a request.
func Without(err error, secret string) error {
	var e *provider.Error
	if secret != "" && errors.As(err, &e) && strings.Contains(e.Error()+fmt.Sprint(e.Err), secret) {
		clean := *e
		clean.Text, clean.Err = strings.ReplaceAll(e.Text, secret, "..."), nil
		return &clean
	}
	return err
}

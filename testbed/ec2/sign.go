package ec2

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// verify checks the signature (version 4) of a request, as Amazon does: it makes the signature from the request and the secret, and compares.
func verify(r *http.Request, body []byte, accessKey, secretKey, service string, now time.Time) error {
	auth, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return &apiError{http.StatusForbidden, "MissingAuthenticationToken", "Request is missing Authentication Token"}
	}
	part := map[string]string{}
	for _, field := range strings.Split(auth, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		part[key] = value
	}
	scope := strings.Split(part["Credential"], "/") // key/date/region/service/aws4_request
	signed := strings.Split(part["SignedHeaders"], ";")
	if len(scope) != 5 || scope[3] != service || scope[4] != "aws4_request" || !slices.Contains(signed, "host") {
		return refuse("IncompleteSignature", "Credential should be scoped to a valid service, region and terminator, and the host header be signed.")
	}
	if scope[0] != accessKey {
		return &apiError{http.StatusUnauthorized, "AuthFailure", textOf("AuthFailure")}
	}
	date := r.Header.Get("X-Amz-Date")
	at, err := time.Parse("20060102T150405Z", date)
	if err != nil || at.Format("20060102") != scope[1] || now.Sub(at).Abs() > 5*time.Minute {
		return refuse("RequestExpired", "Request has expired.")
	}
	text := strings.Join([]string{"AWS4-HMAC-SHA256", date, strings.Join(scope[1:], "/"), digest([]byte(canonical(r, signed, body)))}, "\n")
	key := []byte("AWS4" + secretKey)
	for _, s := range scope[1:] {
		key = mac(key, s)
	}
	if !hmac.Equal([]byte(hex.EncodeToString(mac(key, text))), []byte(part["Signature"])) {
		return &apiError{http.StatusForbidden, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method."}
	}
	return nil
}

// canonical is the form of a request that is signed.
func canonical(r *http.Request, signed []string, body []byte) string {
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	query := strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20") // Encode sorts
	var headers strings.Builder
	for _, h := range signed {
		value := strings.Join(r.Header.Values(h), ",")
		switch h {
		case "host":
			value = r.Host
		case "content-length":
			value = r.Header.Get("Content-Length")
			if value == "" {
				value = itoa(int(r.ContentLength))
			}
		}
		headers.WriteString(h + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	return strings.Join([]string{r.Method, (&url.URL{Path: path}).EscapedPath(), query, headers.String(), strings.Join(signed, ";"), digest(body)}, "\n")
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

package agentserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fsub/cloud"
	"fsub/federation"
)

// A token is a kind, its claims, and the HMAC of both, separated by dots.
const (
	kindOneTime = "fo1"
	kindSession = "fs1"
)

var (
	errBadToken = errors.New("the token was not made by this daemon")
	errExpired  = errors.New("the token has expired")
)

var enc = base64.RawURLEncoding

func (s *Server) sign(kind string, claims ...string) string {
	text := kind + "." + enc.EncodeToString([]byte(strings.Join(claims, "\x00")))
	return text + "." + enc.EncodeToString(s.mac(text))
}

func (s *Server) mac(text string) []byte {
	m := hmac.New(sha256.New, s.cfg.Key)
	m.Write([]byte("fsub door\x00" + text)) // tokens of earlier versions stay valid
	return m.Sum(nil)
}

// open returns the claims of a token of a kind, as many as want.
func (s *Server) open(kind, token string, want int) ([]string, error) {
	cut := strings.LastIndexByte(token, '.')
	if cut < 0 {
		return nil, errBadToken
	}
	mac, err := enc.DecodeString(token[cut+1:])
	if err != nil || !hmac.Equal(mac, s.mac(token[:cut])) {
		return nil, errBadToken
	}
	text, ok := strings.CutPrefix(token[:cut], kind+".")
	claims, err := enc.DecodeString(text)
	if err != nil || !ok {
		return nil, errBadToken
	}
	fields := strings.Split(string(claims), "\x00")
	if len(fields) != want {
		return nil, errBadToken
	}
	return fields, nil
}

// oneTime makes the token with which the machines of a gang register.
func (s *Server) oneTime(site federation.SiteName, gang string, expires time.Time) string {
	return s.sign(kindOneTime, string(site), gang, strconv.FormatInt(expires.Unix(), 10))
}

// gang returns the gang that a one-time token is for.
func (s *Server) gang(token string) (site federation.SiteName, gang string, err error) {
	claims, err := s.open(kindOneTime, token, 3)
	if err != nil {
		return "", "", err
	}
	expires, err := strconv.ParseInt(claims[2], 10, 64)
	if err != nil {
		return "", "", errBadToken
	}
	if s.cfg.Now().Unix() >= expires {
		return "", "", errExpired
	}
	return federation.SiteName(claims[0]), claims[1], nil
}

// session makes the token of a registered machine. It is valid as long as the driver knows the machine;
// machine IDs are never reused.
func (s *Server) session(m cloud.MachineID) string { return s.sign(kindSession, string(m)) }

// machine returns the machine whose session token this is.
func (s *Server) machine(token string) (cloud.MachineID, error) {
	claims, err := s.open(kindSession, token, 1)
	if err != nil {
		return "", err
	}
	return cloud.MachineID(claims[0]), nil
}

func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

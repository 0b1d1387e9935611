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

// A token is a kind, what it stands for, and the HMAC of both, separated by dots. The kind is part of what is signed.
const (
	kindOneTime = "fo1"
	kindSession = "fs1"
)

var (
	errBadToken = errors.New("the token was not made by this daemon")
	errExpired  = errors.New("the token has expired")
)

var enc = base64.RawURLEncoding

func (d *Door) sign(kind string, claims ...string) string {
	text := kind + "." + enc.EncodeToString([]byte(strings.Join(claims, "\x00")))
	return text + "." + enc.EncodeToString(d.mac(text))
}

func (d *Door) mac(text string) []byte {
	m := hmac.New(sha256.New, d.cfg.Key)
	m.Write([]byte("fsub door\x00" + text))
	return m.Sum(nil)
}

// open returns the claims of a token of a kind, as many as want.
func (d *Door) open(kind, token string, want int) ([]string, error) {
	cut := strings.LastIndexByte(token, '.')
	if cut < 0 {
		return nil, errBadToken
	}
	mac, err := enc.DecodeString(token[cut+1:])
	if err != nil || !hmac.Equal(mac, d.mac(token[:cut])) {
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

// oneTime makes the token that a gang's machines say hello with.
func (d *Door) oneTime(site federation.SiteName, gang string, expires time.Time) string {
	return d.sign(kindOneTime, string(site), gang, strconv.FormatInt(expires.Unix(), 10))
}

// gang is whose machines a one-time token is for.
func (d *Door) gang(token string) (site federation.SiteName, gang string, err error) {
	claims, err := d.open(kindOneTime, token, 3)
	if err != nil {
		return "", "", err
	}
	expires, err := strconv.ParseInt(claims[2], 10, 64)
	if err != nil {
		return "", "", errBadToken
	}
	if d.cfg.Now().Unix() >= expires {
		return "", "", errExpired
	}
	return federation.SiteName(claims[0]), claims[1], nil
}

// session makes the token of a machine that was let in. It is good for as long as the driver knows the machine; numbers of machines do not come again.
func (d *Door) session(m cloud.MachineID) string { return d.sign(kindSession, string(m)) }

// machine is whose session a token is.
func (d *Door) machine(token string) (cloud.MachineID, error) {
	claims, err := d.open(kindSession, token, 1)
	if err != nil {
		return "", err
	}
	return cloud.MachineID(claims[0]), nil
}

func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// Package munge asks munged for credentials and has it decode them, by the protocol of munge 0.5 on its unix socket, of which version 4 is spoken since 2004: libmunge
// would need cgo. A [Credential] says which user of which machines with the same key has made it, and when.
package munge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// Socket is where munged listens on most machines.
const Socket = "/run/munge/munge.socket.2"

// Header of a call to the daemon has a credential: SITE CREDENTIAL. The credential's payload is that of [PayloadFor].
const Header = "X-Fsub-Munge"

// PayloadFor is what a credential is made for: a site, whose users are meant, and the daemon with a certificate of that SHA-256. So none that was made for
// anything else counts, and a server that was sent one cannot use it at another.
func PayloadFor(site, fingerprint string) string {
	return "fsub 1 " + site + " " + strings.ToLower(fingerprint)
}

// Credential is what munged says of one that it has decoded.
type Credential struct {
	UID, GID uint32
	Payload  string
	TTL      time.Duration // it is good for as long before and after Encoded
	Encoded  time.Time     // by the clock of the machine where it was made
}

// The reasons for which munged refuses a credential, each with a sentence of its own. Any other reason is [ErrInvalid].
var (
	ErrInvalid  = errors.New("munged refuses the credential: it was made with another key, or was changed on its way")
	ErrExpired  = errors.New("munged refuses the credential: it has expired; do the clocks of both machines agree?")
	ErrRewound  = errors.New("munged refuses the credential: it was made in the future; do the clocks of both machines agree?")
	ErrReplayed = errors.New("munged refuses the credential: it was used before")
)

// Messages of the protocol (m_msg.h of munge).
const (
	magic          = 0x00606D4B
	version        = 4
	encodeRequest  = 2
	encodeResponse = 3
	decodeRequest  = 4
	decodeResponse = 5
	headSize       = 11
	mostAnswer     = 1 << 20
	anybody        = 0xffffffff
)

// Error numbers (munge_err_t).
const (
	credInvalid  = 14
	credExpired  = 15
	credRewound  = 16
	credReplayed = 17
)

// Encode has munged make a credential of this process's user, with its usual time to live.
func Encode(socket, payload string, timeout time.Duration) (string, error) {
	return encode(socket, payload, 0, timeout)
}

// encode is Encode of one that is good for so many seconds, 0 for the usual.
func encode(socket, payload string, ttl uint32, timeout time.Duration) (string, error) {
	body := []byte{1, 1, 0, 0} // its default cipher and MAC, no compression; the length of the realm
	body = binary.BigEndian.AppendUint32(body, ttl)
	body = binary.BigEndian.AppendUint32(body, anybody)
	body = binary.BigEndian.AppendUint32(body, anybody)
	r, err := call(socket, encodeRequest, encodeResponse, appendText(body, payload), timeout)
	if err != nil {
		return "", err
	}
	number, text := r.byte(), r.short()
	cred := strings.TrimRight(r.long(), "\x00")
	switch {
	case r.bad:
		return "", errGarbled(socket)
	case number != 0:
		return "", fmt.Errorf("munged makes no credential: %s", text)
	}
	return cred, nil
}

// Decode has munged decode a credential. munged refuses one that it has decoded before.
func Decode(socket, cred string, timeout time.Duration) (c Credential, err error) {
	r, err := call(socket, decodeRequest, decodeResponse, appendText(nil, cred), timeout)
	if err != nil {
		return c, err
	}
	return decoded(socket, r)
}

func decoded(socket string, r *reader) (c Credential, err error) {
	number, text := r.byte(), r.short()
	r.skip(3) // cipher, MAC, compression
	r.short() // realm
	c.TTL = time.Duration(r.number()) * time.Second
	r.skip(int(r.byte())) // address
	c.Encoded = time.Unix(int64(r.number()), 0)
	r.skip(4) // when it was decoded
	c.UID, c.GID = r.number(), r.number()
	r.skip(8) // who may decode it
	c.Payload = r.long()
	switch {
	case number == 0 && r.bad:
		return Credential{}, errGarbled(socket)
	case number == 0:
		return c, nil
	case number == credExpired:
		err = ErrExpired
	case number == credRewound:
		err = ErrRewound
	case number == credReplayed:
		err = ErrReplayed
	case number == credInvalid:
		err = ErrInvalid
	default:
		err = fmt.Errorf("%w (%s)", ErrInvalid, text)
	}
	return Credential{}, err
}

func errGarbled(socket string) error {
	return fmt.Errorf("what listens at %s is not munged, or one of another version", socket)
}

// call sends one message and returns the body of the answer.
func call(socket string, request, response byte, body []byte, timeout time.Duration) (*reader, error) {
	c, err := net.DialTimeout("unix", socket, timeout)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		var sys *os.SyscallError
		if errors.As(err, &sys) {
			err = sys.Err
		}
		return nil, fmt.Errorf("munged does not answer at %s (%w)", socket, err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	message := binary.BigEndian.AppendUint32(nil, magic)
	message = append(message, version, request, 0)
	message = binary.BigEndian.AppendUint32(message, uint32(len(body)))
	if _, err := c.Write(append(message, body...)); err != nil {
		return nil, fmt.Errorf("munged does not answer at %s (%w)", socket, err)
	}
	head := make([]byte, headSize)
	if _, err := io.ReadFull(c, head); err != nil {
		return nil, fmt.Errorf("munged does not answer at %s (%w)", socket, err)
	}
	size := binary.BigEndian.Uint32(head[7:])
	if binary.BigEndian.Uint32(head) != magic || head[4] != version || head[5] != response || size > mostAnswer {
		return nil, errGarbled(socket)
	}
	answer := make([]byte, size)
	if _, err := io.ReadFull(c, answer); err != nil {
		return nil, fmt.Errorf("munged does not answer at %s (%w)", socket, err)
	}
	return &reader{left: answer}, nil
}

func appendText(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
}

// reader takes fields off a body; bad: there were fewer bytes than fields.
type reader struct {
	left []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.left) {
		r.bad = true
		return make([]byte, min(n, 4))
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

func (r *reader) skip(n int)     { r.take(n) }
func (r *reader) byte() byte     { return r.take(1)[0] }
func (r *reader) number() uint32 { return binary.BigEndian.Uint32(r.take(4)) }

// short is a text whose length is one byte; munged counts its final zero.
func (r *reader) short() string { return strings.TrimRight(string(r.take(int(r.byte()))), "\x00") }

// long is a text whose length is four bytes.
func (r *reader) long() string {
	n := r.number()
	if r.bad || n > uint32(len(r.left)) {
		r.bad = true
		return ""
	}
	return string(r.take(int(n)))
}

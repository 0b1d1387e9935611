package login

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
)

// second is the unit of the provider's times; shorter in tests.
var second = time.Second

// slower is by how much polls come later each after the provider was asked too often, in the provider's seconds: RFC 8628, 3.5.
const slower = 5

// confirm has the user confirm a code at the provider of the daemon, and waits for the token.
func (in *request) confirm(stderr io.Writer) error {
	at := in.at
	at.Stranger = true
	c := conn.At(at)
	defer c.Close()
	var begun v1.Login
	if _, err := post(c, "/fed/v1/login", nil, &begun); err != nil {
		return err
	}
	if strings.ContainsFunc(begun.Page+begun.Direct+begun.Code, func(r rune) bool { return r < ' ' || r > '~' }) || begun.Secret == "" {
		return errors.New("the server at " + c.Server() + " is not an fsub daemon, or one of another version")
	}
	page := begun.Direct
	if page == "" {
		page = begun.Page
	}
	io.WriteString(stderr, "Open in a browser, on any machine:  "+page+"\nand confirm that the code there is:  "+begun.Code+"\n")
	if in.name == "" {
		in.name = tokenName()
	}
	made, err := in.await(c, &begun)
	if err != nil {
		return err
	}
	in.at.Token, in.at.Own = made.Token, made.Name
	return nil
}

// await polls until the code is confirmed. A daemon or a provider that does not answer is asked again, later each time.
func (in *request) await(c *conn.Conn, begun *v1.Login) (*v1.Token, error) {
	interval := time.Duration(max(begun.Interval, 1)) * second
	var silent error
	for end := time.Now().Add(time.Duration(begun.Expires) * second); time.Now().Before(end); {
		time.Sleep(interval)
		var state v1.LoginState
		again, err := post(c, "/fed/v1/login/token", v1.LoginPoll{Secret: begun.Secret, Name: in.name, Scope: in.scope}, &state)
		switch silent = err; {
		case err != nil && !again:
			return nil, err
		case err != nil:
			interval = min(2*interval, 60*second)
		case state.Token != nil:
			return state.Token, nil
		case state.Slower:
			interval += slower * second
		}
	}
	if silent != nil {
		return nil, silent
	}
	return nil, errors.New("the code was not confirmed in time; sign in again")
}

// post sends in to the daemon. again: it, or what it has asked, did not answer, and may be asked once more.
func post(c *conn.Conn, path string, in, out any) (again bool, err error) {
	var body []byte
	if in != nil {
		if body, err = json.Marshal(in); err != nil {
			return false, err
		}
	}
	status, reply, err := c.Do("POST", path, body)
	switch {
	case err != nil:
		return true, detail(err)
	case status >= 400:
		return status == 503, show.Refusal(reply)
	case json.Unmarshal(reply, out) != nil:
		return false, errors.New("the server at " + c.Server() + " is not an fsub daemon, or one of another version")
	}
	return false, nil
}

// tokenName names the token of this machine.
func tokenName() string {
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	name := "login-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, host)
	return name[:min(len(name), 63)]
}

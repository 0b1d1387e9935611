package agentserver

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"fsub/cloud/agentapi"
	"fsub/federation/tunnel"
)

// TestStream: a machine makes the connection that it was ordered to make, and no other.
func TestStream(t *testing.T) {
	w := newWorld(t)
	open := func(id, token string) (*tunnel.Conn, error) {
		c, err := net.Dial("tcp", w.srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return tunnel.Open(t.Context(), c, agentapi.PathStream+id, http.Header{"Authorization": {"Bearer " + token}})
	}
	for _, c := range [][2]string{{"awaited", ""}, {"awaited", "fs1.x.y"}, {"another", w.session("aws:1")}} {
		if _, err := open(c[0], c[1]); err == nil {
			t.Errorf("%v: a tunnel", c)
		}
	}
	if code, _ := w.ask(t, "POST", agentapi.PathStream+"awaited", w.session("aws:1"), ""); code != http.StatusBadRequest {
		t.Errorf("without the header: %d", code)
	}
	c, err := open("awaited", w.session("aws:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "secret words")
	c.CloseWrite()
	if text, err := io.ReadAll(c); string(text) != "secret words" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if logs := w.logs.String(); strings.Contains(logs, "secret words") || strings.Contains(logs, w.session("aws:1")) {
		t.Errorf("logged: %s", logs)
	}
}

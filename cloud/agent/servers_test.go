package agent

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/agentserver"
)

// daemonAt is a daemon's agent server at an address, which says its name.
func daemonAt(t *testing.T, address, name string) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `"`+name+`"`) }))
	s.Listener.Close()
	s.Listener = l
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// Of several daemons the one that leads answers: the others refuse connections, hang, or are strangers. When another one leads it is found, by a request that
// waits for it as well, and by addresses of which the boot data knew nothing.
func TestSeveralDaemons(t *testing.T) {
	hangs, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes its connections, as those of a daemon that is frozen
	if err != nil {
		t.Fatal(err)
	}
	defer hangs.Close()
	stranger := httptest.NewUnstartedServer(http.NotFoundHandler())
	stranger.TLS = &tls.Config{Certificates: []tls.Certificate{otherCertificate(t)}}
	stranger.StartTLS()
	defer stranger.Close()
	a := daemonAt(t, "127.0.0.1:0", "a")
	b := daemonAt(t, "127.0.0.1:0", "b")
	atB := b.Listener.Addr().String()
	b.Close() // it stands by
	sum := sha256.Sum256(a.Certificate().RawSubjectPublicKeyInfo)
	urls := []string{"https://" + hangs.Addr().String(), stranger.URL, "https://" + atB, a.URL}
	d, err := newServer(agentapi.Boot{URL: strings.Join(urls, ","), Pin: base64.StdEncoding.EncodeToString(sum[:])})
	if err != nil {
		t.Fatal(err)
	}
	ask := func() (name string, err error) {
		err = d.call(t.Context(), time.Minute, agentapi.PathPoll, "", nil, &name)
		return name, err
	}
	if got, err := ask(); got != "a" || err != nil {
		t.Fatalf("%q answers, %v; want a", got, err)
	}
	if first := d.servers.known()[0]; first != a.Listener.Addr().String() {
		t.Errorf("%s is asked first, not the one that answers", first)
	}
	a.CloseClientConnections()
	a.Close()
	go func() {
		time.Sleep(300 * time.Millisecond) // nobody leads for a while
		daemonAt(t, atB, "b")
	}()
	if got, err := ask(); got != "b" || err != nil {
		if got, err = ask(); got != "b" || err != nil { // the connection may have been found dead by the first one
			t.Fatalf("%q answers, %v; want b", got, err)
		}
	}
	c := daemonAt(t, "127.0.0.1:0", "c")
	for _, bad := range []string{"http://127.0.0.1:1", "unix:/x", "127.0.0.1:1"} {
		if err := d.know([]string{c.URL, bad}); err == nil {
			t.Errorf("%s is taken for an address", bad)
		}
	}
	if err := d.know([]string{c.URL}); err != nil {
		t.Fatal(err)
	}
	d.http.CloseIdleConnections()
	if got, err := ask(); got != "c" || err != nil {
		t.Errorf("%q answers, %v; want c", got, err)
	}
	if err := d.know(nil); err != nil || len(d.servers.known()) != 1 {
		t.Errorf("no addresses replace the known ones: %v, %v", d.servers.known(), err)
	}
}

// otherCertificate is one with another key than that of httptest's servers.
func otherCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	dir := t.TempDir()
	c, err := agentserver.Certificate(dir+"/crt", dir+"/key")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

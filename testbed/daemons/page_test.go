package daemons

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"
)

// certificate writes a certificate for this machine's own address, and its key.
func (w *world) certificate() {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "page"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write("page.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	w.write("page.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

// Each of several daemons has the page, by TLS and HTTP/2: a ticket of one signs in at another, once; the session is good at all of them, outlives the one that leads, and ends at
// all of them.
func TestPageOfSeveral(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, func(w *world) {
		w.certificate()
		w.sites = func(d *daemon) string {
			return fmt.Sprintf("web: {listen: %q, cert_file: %s, key_file: %s}\nsites: [{name: alpha, url: \"unix:%s\", key_file: %s, no_associations: true}]\n",
				freeAddress(t), d.path("page.crt"), d.path("page.key"), d.path("rest"), d.path("key"))
		}
	})
	w.stand()
	leads := w.leader(w.daemons[0])
	other := w.others(leads)[0]
	w.write("job.sh", "#!/bin/sh\n#SBATCH --time=5 --hold\n")
	id, err := leads.run("fsub", "--parsable", w.path("job.sh"))
	if err != nil {
		t.Fatal(err)
	}
	ticketOf := func(d *daemon) (at, ticket string) {
		t.Helper()
		out, err := d.run("fed", "web", "--print")
		if err != nil {
			t.Fatal(err)
		}
		at, ticket, _ = strings.Cut(strings.Fields(out)[0], "/login#")
		return at, ticket
	}
	here, ticket := ticketOf(leads)
	there, _ := ticketOf(other)
	if here == there {
		t.Fatalf("fed web at the one that stands by has the page of the one that leads: %s", there)
	}
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar, Timeout: 8 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	signIn := func(at, ticket string) *http.Response {
		t.Helper()
		resp, err := browser.PostForm(at+"/login", url.Values{"ticket": {ticket}})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	resp := signIn(there, ticket)
	if cookie := resp.Header.Get("Set-Cookie"); resp.StatusCode != http.StatusSeeOther || resp.ProtoMajor != 2 || !strings.HasPrefix(cookie, "__Host-fsub=") || !strings.Contains(cookie, "; Secure") ||
		resp.Header.Get("Strict-Transport-Security") == "" {
		t.Fatalf("a ticket of the leader at the other: %s %s, cookie %q", resp.Proto, resp.Status, cookie)
	}
	if resp := signIn(here, ticket); resp.StatusCode != http.StatusForbidden {
		t.Errorf("the ticket again, at the leader: %s", resp.Status)
	}
	page := func(at string) (int, string) {
		resp, err := browser.Get(at + "/jobs?user=")
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	for _, at := range []string{here, there} {
		if status, text := page(at); status != http.StatusOK || !strings.Contains(text, ">"+id+"<") {
			t.Errorf("the page at %s: %d %.300s", at, status, text)
		}
	}
	leads.kill()
	eventually(t, "the other leads, and knows the session", func() error {
		if status, text := page(there); status != http.StatusOK || !strings.Contains(text, ">"+id+"<") {
			return fmt.Errorf("%d %.300s", status, text)
		}
		return nil
	})
	leads.start()
	w.stand()
	stolen, _ := cookiejar.New(nil)
	where, _ := url.Parse(there)
	stolen.SetCookies(where, jar.Cookies(where))
	resp, err = browser.PostForm(there+"/logout", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	browser.Jar = stolen
	for _, at := range []string{here, there} {
		if status, _ := page(at); status != http.StatusSeeOther {
			t.Errorf("after the logout at %s: %d", at, status)
		}
	}
}

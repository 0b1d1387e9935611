package elsewhere

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation/api/identity/munge"
	v1 "fsub/federation/api/v1"
	"fsub/testbed/munged"
)

// forged calls the daemon by credentials of real munged that are not good any more, and by tokens and credentials as large as a header takes: each is refused in a
// sentence, and the daemon's memory stays what it is.
func (w *world) forged() {
	w.t.Helper()
	pemText, err := os.ReadFile(w.dir + "/crt")
	if err != nil {
		w.t.Fatal(err)
	}
	block, _ := pem.Decode(pemText)
	sum := sha256.Sum256(block.Bytes)
	payload := munge.PayloadFor("alpha", hex.EncodeToString(sum[:]))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pemText)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	// call is the status, who calls, and why nobody does.
	call := func(header, value string) (status int, user, why string) {
		req, err := http.NewRequestWithContext(w.t.Context(), "GET", "https://"+w.server+"/fed/v1/caller", nil)
		if err != nil {
			w.t.Fatal(err)
		}
		req.Header.Set(header, value)
		resp, err := client.Do(req)
		if err != nil {
			w.t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		var said struct {
			v1.Caller
			Error v1.Error
		}
		if json.Unmarshal(text, &said) != nil {
			return resp.StatusCode, "", strings.TrimSpace(string(text))
		}
		return resp.StatusCode, said.User, strings.TrimPrefix(said.Error.Text+": "+said.Error.Detail, ": ")
	}
	refused := func(what, header, value, want string) {
		w.t.Helper()
		if status, user, why := call(header, value); status/100 != 4 || user != "" || !strings.Contains(why, want) || len(why) > 300 || strings.Contains(why, "\n") {
			w.t.Errorf("%s: status %d, %q: %.300q, want %q", what, status, user, why, want)
		}
	}
	credential := func(options ...string) string {
		w.t.Helper()
		out, err := w.run(al, nil, slices.Concat(munged.Tool(w.t), []string{"--socket=" + munge.Socket, "--string=" + payload}, options)...)
		if err != nil {
			w.t.Fatalf("munge: %v: %s", err, out)
		}
		return strings.TrimSpace(out)
	}
	good := credential()
	if status, user, why := call(munge.Header, "alpha "+good); status != 200 || user != "fsubalice" {
		w.t.Errorf("a good credential: status %d, %q: %s", status, user, why)
	}
	refused("once more", munge.Header, "alpha "+good, "it was used before")
	refused("for another site", munge.Header, "beta "+credential(), `no munge key of a site "beta"`)
	refused("for an hour", munge.Header, "alpha "+credential("--ttl=3600"), "is good for 1h0m0s, longer than 5m0s")
	var short []string // good for a second each
	for range 20 {
		short = append(short, credential("--ttl=1"))
	}
	expired := false
	for _, c := range short {
		status, _, why := call(munge.Header, "alpha "+c)
		if expired = strings.Contains(why, "it has expired"); expired {
			break
		}
		if status != 200 {
			w.t.Errorf("good for a second: status %d: %s", status, why)
		}
		time.Sleep(time.Second / 5)
	}
	if !expired {
		w.t.Error("a credential that was good for a second has never expired")
	}
	letters := func(n int) string { return strings.Repeat("A", n) }
	large := []struct{ what, header, value, want string }{
		{"a token of 64 KB", "X-SLURM-USER-TOKEN", letters(64 << 10), "the token"},
		{"a token of 60 KB in three parts", "X-SLURM-USER-TOKEN", letters(20<<10) + "." + letters(20<<10) + "." + letters(20<<10), "the token"},
		{"a credential of 64 KB", munge.Header, "alpha MUNGE:" + letters(64<<10) + ":", "munged refuses the credential"},
		{"a site of 60 KB", munge.Header, letters(60<<10) + " MUNGE:AAAA:", "no munge key"},
		{"a token of 128 KB", "X-SLURM-USER-TOKEN", letters(128 << 10), "Request Header Fields Too Large"},
		{"a credential of 128 KB", munge.Header, "alpha MUNGE:" + letters(128<<10) + ":", "Request Header Fields Too Large"},
		{"a token of 1 MB", "X-SLURM-USER-TOKEN", letters(1 << 20), "Request Header Fields Too Large"},
	}
	for _, c := range large {
		refused(c.what, c.header, c.value, c.want)
	}
	many := func() {
		for range 300 {
			for _, c := range large[:4] {
				call(c.header, c.value)
			}
		}
	}
	many() // its heap grows to what so many take between two collections
	before := w.resident()
	many()
	many()
	if grown := w.resident() - before; grown > 32<<10 { // all of them together have 150 MiB
		w.t.Errorf("the daemon grew by %d KiB", grown)
	} else {
		w.t.Logf("by 2400 large tokens and credentials the daemon grew by %d KiB", grown)
	}
}

// resident is the daemon's memory in KiB.
func (w *world) resident() int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(w.daemon.Process.Pid) + "/status")
	if err != nil {
		w.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

package hostile

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"

	v1 "fsub/federation/api/v1"
)

// fromElsewhere is what an attacker calls the daemon by as from another machine.
type fromElsewhere struct {
	once  sync.Once
	http  *http.Client
	token v1.Token
}

// elsewhere makes a token of the attacker's own, which says where other machines find the daemon.
func (a *attacker) elsewhere(ctx context.Context) *fromElsewhere {
	a.remote.once.Do(func() {
		a.remote.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 4}}
		resp, err := a.send(ctx, "POST", "/fed/v1/tokens", v1.Token{Name: "elsewhere", Scope: "read", Lifetime: "1h"})
		if err != nil {
			return
		}
		defer resp.Body.Close()
		_ = json.NewDecoder(resp.Body).Decode(&a.remote.token)
	})
	return &a.remote
}

// guesses calls over TLS with tokens and credentials that are made up, changed or somebody else's, and with its own.
func (a *attacker) guesses(ctx context.Context, r *rand.Rand) string {
	from := a.elsewhere(ctx)
	host, _, _ := strings.Cut(from.token.Server, "#")
	if host == "" {
		return a.call(ctx, "GET", "/fed/v1/caller", nil)
	}
	parts := strings.Split(from.token.Token, ".")
	const queue = "/slurm/v0.0.42/jobs"
	path, name, value := "/fed/v1/caller", "X-SLURM-USER-TOKEN", ""
	switch r.IntN(6) {
	case 0:
		value = parts[0] + "." + parts[1] + "." + strconv.FormatUint(r.Uint64(), 36)
	case 1:
		value = strings.Repeat("a.", r.IntN(1000))
	case 2:
		name, value = "X-Fsub-Munge", "alpha MUNGE:"+strconv.FormatUint(r.Uint64(), 36)+":"
	case 3:
		name, value = "X-Fsub-Caller", "0:0"
	case 4:
		path, value = queue, from.token.Token
	default:
		value = from.token.Token
	}
	req, err := http.NewRequestWithContext(ctx, "GET", "https://"+host+path, nil)
	if err != nil {
		panic(err)
	}
	req.Header.Set(name, value)
	resp, err := from.http.Do(req)
	if err != nil {
		return "cut"
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	if good := value == from.token.Token; resp.StatusCode == http.StatusOK && !good {
		return "500 {a guess was taken}" // which fails the test
	}
	return strconv.Itoa(resp.StatusCode)
}

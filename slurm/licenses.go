package slurm

import (
	"context"
	"net/http"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// licenses are what the site counts of them, kept for a minute.
type licenses struct {
	list []federation.License
	read time.Time
}

const licensesAge = time.Minute

// licensesNow returns them, nil if the site does not tell. A site that does not answer about them keeps those of before, and nothing fails. It
// makes its call past [client.do]: that a path is not known says nothing of the API version here.
func (m *members) licensesNow(ctx context.Context) []federation.License {
	now := m.c.now()
	m.mu.Lock()
	have := m.licenses
	m.mu.Unlock()
	tr, err := m.c.negotiated(ctx)
	if err != nil || tr.old || !have.read.IsZero() && now.Sub(have.read) < licensesAge {
		return have.list
	}
	fresh := licenses{list: have.list, read: now}
	var a wire.LicensesResponse
	status, body, err := m.c.send(ctx, request{op: "licenses", method: http.MethodGet}, wire.Slurm(tr.version, wire.PathLicenses))
	if err == nil && status == http.StatusOK && tr.decode(body, &a) == nil && len(a.Errors) == 0 {
		fresh.list = []federation.License{} // nil: not told
		for _, l := range a.Licenses {
			fresh.list = append(fresh.list, federation.License{Name: l.Name, Total: int(l.Total), Used: int(l.Used), Reserved: int(l.Reserved)})
		}
	}
	m.mu.Lock()
	m.licenses = fresh
	m.mu.Unlock()
	return fresh.list
}

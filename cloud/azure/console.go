package azure

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"fsub/cloud/provider"
)

// maxConsole is how much is read of a machine's console.
const maxConsole = 1 << 20

// Console is what a machine has written on its serial port: Azure keeps that as a blob, whose address it tells for some minutes.
func (p *Provider) Console(ctx context.Context, id provider.InstanceID) (string, error) {
	var at *string
	if set, n, ok := setOf(id); ok && uniform(set) {
		got, err := p.setVMs.RetrieveBootDiagnosticsData(ctx, p.cfg.ResourceGroup, set, n, nil)
		if err != nil {
			return "", refused(err)
		}
		at = got.SerialConsoleLogBlobURI
	} else {
		got, err := p.vms.RetrieveBootDiagnosticsData(ctx, p.cfg.ResourceGroup, string(id), nil)
		if err != nil {
			return "", refused(err)
		}
		at = got.SerialConsoleLogBlobURI
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, str(at), nil)
	if err != nil {
		return "", refused(err)
	}
	client := p.cfg.HTTP
	if client == nil {
		client = &http.Client{Timeout: time.Minute}
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: "the storage of consoles does not answer"} // its address is a credential
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: fmt.Sprintf("the storage of consoles answers %s", resp.Status)}
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxConsole))
	return string(text), err
}

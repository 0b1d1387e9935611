package google

import (
	"context"
	"fmt"
	"net/http"

	"google.golang.org/api/option"
	transport "google.golang.org/api/transport/http"
)

// Account is who asks Google.
type Account struct {
	CredentialsFile string       // of a service account; "": where Google's own tools look
	Endpoint        string       // stands in for all of Google's, without authentication; "": none
	HTTP            *http.Client // nil: one with credentials
}

// Client is an HTTP client that proves who it is for a scope, unless something stands in for Google. It calls nobody.
func (a *Account) Client(ctx context.Context, scope string) (*http.Client, error) {
	switch {
	case a.HTTP != nil:
		return a.HTTP, nil
	case a.Endpoint != "":
		return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}, nil
	}
	auth := []option.ClientOption{option.WithScopes(scope)}
	if a.CredentialsFile != "" {
		auth = append(auth, option.WithAuthCredentialsFile(option.ServiceAccount, a.CredentialsFile))
	}
	client, _, err := transport.NewClient(ctx, auth...)
	if err != nil {
		return nil, fmt.Errorf("no credentials: name a file with a service account's key, or run the daemon where Google's own tools find one: %w", err)
	}
	return client, nil
}

// Options are what Google's clients are made with.
func (a *Account) Options(client *http.Client) []option.ClientOption {
	opts := []option.ClientOption{option.WithHTTPClient(client)}
	if a.Endpoint != "" {
		opts = append(opts, option.WithEndpoint(a.Endpoint))
	}
	return opts
}

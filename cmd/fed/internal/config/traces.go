package config

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"fsub/federation/secret"
)

// Traces is the collector that gets an OpenTelemetry trace of each job that ends: docs/monitoring.md. Not set: none is made.
type Traces struct {
	// Address of the collector's OTLP over HTTP: https://HOST:4318/v1/traces, or http:// where the way there is trusted.
	Endpoint string `yaml:"endpoint,omitempty"`
	// Share of the traces that are sent, from 0 to 1. Not set: all. Those of jobs that fail are sent always.
	Share *float64 `yaml:"share,omitempty"`
	// File with headers for the collector, one a line as NAME: VALUE, mode 0600.
	HeadersFile string `yaml:"headers_file,omitempty"`
	// PEM file of the authorities that may have signed the collector's certificate. Not set: those that this machine trusts.
	CAFile string `yaml:"ca_file,omitempty"`
}

// SampledShare is the share of the traces that are sent.
func (t *Traces) SampledShare() float64 {
	if t.Share == nil {
		return 1
	}
	return *t.Share
}

func (t *Traces) check() error {
	if t.Endpoint == "" {
		if *t != (Traces{}) {
			return errors.New("traces: endpoint is missing: the address of a collector, such as https://otel.example.org:4318/v1/traces")
		}
		return nil
	}
	if u, err := url.Parse(t.Endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
		return fmt.Errorf("traces: invalid endpoint %q: want http or https://HOST:PORT/v1/traces", t.Endpoint)
	}
	if u, _ := url.Parse(t.Endpoint); u.User != nil {
		return fmt.Errorf("traces: invalid endpoint %q: a password does not belong into it: use headers_file", u.Redacted())
	}
	if s := t.SampledShare(); !(s >= 0 && s <= 1) {
		return fmt.Errorf("traces: invalid share %v: want a number from 0 to 1", s)
	}
	return nil
}

// Headers are those of the file of headers.
func (t *Traces) Headers() (map[string]string, error) {
	if t.HeadersFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(t.HeadersFile)
	if err == nil {
		err = secret.Check(t.HeadersFile)
	}
	if err != nil {
		return nil, fmt.Errorf("traces: headers_file: %w", err)
	}
	all := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		if !found || name == "" {
			return nil, fmt.Errorf("traces: headers_file: a line of %s is not NAME: VALUE", t.HeadersFile)
		}
		all[name] = strings.TrimSpace(value)
	}
	return all, lines.Err()
}

// TLS is how the collector's certificate is checked; nil: as this machine does.
func (t *Traces) TLS() (*tls.Config, error) {
	if t.CAFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(t.CAFile)
	if err != nil {
		return nil, fmt.Errorf("traces: ca_file: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("traces: ca_file: there is no certificate in %s", t.CAFile)
	}
	return &tls.Config{RootCAs: roots}, nil
}

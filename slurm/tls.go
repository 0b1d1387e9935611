package slurm

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

// tlsConfig is how https to slurmrestd, or to a proxy before it, is made; nil is Go's own way, with the machine's authorities. The client's
// certificate is read anew for each connection, so that a renewed one counts without a restart.
func (c *Config) tlsConfig() (*tls.Config, error) {
	if c.CAFile == "" && c.CertFile == "" && c.CertKeyFile == "" {
		return nil, nil
	}
	if !strings.HasPrefix(c.URL, "https://") {
		return nil, fmt.Errorf("ca_file, client_cert and client_key are for https; the url is %q", c.URL)
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca_file: %s holds no certificate in PEM", c.CAFile)
		}
	}
	if c.CertFile == "" && c.CertKeyFile == "" {
		return out, nil
	}
	if c.CertFile == "" || c.CertKeyFile == "" {
		return nil, fmt.Errorf("client_cert and client_key go together: set both, or none")
	}
	load := func() (*tls.Certificate, error) {
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.CertKeyFile)
		return &cert, err
	}
	if _, err := load(); err != nil {
		return nil, fmt.Errorf("client_cert: %w", err)
	}
	out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	return out, nil
}

// ClearText warns of an address of slurmrestd where tokens and scripts cross a network unencrypted; "" where they do not.
func ClearText(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return ""
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Hostname() == "localhost" || err == nil && ip.IsLoopback() {
		return ""
	}
	return address + " sends tokens, scripts and environments in clear text: use https://, with a TLS proxy before slurmrestd, or unix:/PATH"
}

// Package s3test runs a server that speaks S3 for tests: moto's, from PyPI, if this machine has it.
package s3test

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"testing"
	"time"
)

// Start starts a server with one empty bucket and returns the bucket's URL for package blobs. It skips the test where there is no
// moto_server ("pip install 'moto[server]'").
func Start(t *testing.T) string {
	t.Helper()
	name, err := exec.LookPath("moto_server")
	if err != nil {
		t.Skip("SKIPPED: no moto_server in PATH: S3 is not tried; run: pip install 'moto[server]'")
	}
	// Credentials that the SDK finds; the server takes any.
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(name, "-H", "127.0.0.1", "-p", port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		req, _ := http.NewRequest("PUT", "http://"+addr+"/bucket", nil)
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0")
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				break
			}
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		if time.Now().After(deadline) {
			t.Fatalf("moto_server does not answer: %v", err)
		}
	}
	return "s3://bucket?region=us-east-1&use_path_style=true&endpoint=http://" + addr
}

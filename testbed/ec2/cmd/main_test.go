package main

import (
	"bufio"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// served is a stand-in in a process of its own, and what it printed.
type served struct {
	cmd  *exec.Cmd
	says map[string]string
	dir  string
}

func serve(t *testing.T, binary string) *served {
	t.Helper()
	s := &served{dir: t.TempDir(), says: map[string]string{}}
	s.cmd = exec.Command(binary, "--dir", s.dir, "--types", "c7i.large,g6.xlarge")
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cmd.Process.Kill(); s.cmd.Wait() })
	for lines := bufio.NewScanner(out); s.says["credentials"] == "" && lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		s.says[key] = value
	}
	return s
}

// beat starts an instance whose processes, one of which has left its session, write to a file of their own, and returns the file's name.
func (s *served) beat(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(s.says["credentials"])
	if err != nil {
		t.Fatal(err)
	}
	value := func(key string) string {
		return regexp.MustCompile(key + ` = (\S+)`).FindStringSubmatch(string(text))[1]
	}
	client := ec2.New(ec2.Options{BaseEndpoint: aws.String(s.says["endpoint"]), Region: s.says["region"], RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(value("aws_access_key_id"), value("aws_secret_access_key"), "")})
	file := filepath.Join(t.TempDir(), "beat")
	script := "#!/bin/sh\nsetsid sh -c 'while :; do echo > " + file + "; sleep 0.01; done' &\nsleep 1000\n"
	if _, err := client.RunInstances(t.Context(), &ec2.RunInstancesInput{ImageId: aws.String("ami-0a1b2c3d4e5f60001"), InstanceType: "c7i.large", MinCount: aws.Int32(1),
		MaxCount: aws.Int32(1), UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(script)))}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return file
		}
		if time.Now().After(deadline) {
			t.Fatal("the instance does not run after two minutes")
		}
	}
}

// silent waits until nothing writes the file any more: who was just killed may take a moment to die.
func silent(t *testing.T, file string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		os.Remove(file)
		time.Sleep(100 * time.Millisecond)
		if _, err := os.Stat(file); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the instance's processes are left")
		}
	}
}

func TestServe(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give instances namespaces of their own")
	}
	binary := filepath.Join(t.TempDir(), "ec2")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := serve(t, binary)
	file := s.beat(t)
	s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	silent(t, file)
	if left, _ := os.ReadDir(s.dir); len(left) != 0 {
		t.Errorf("left in its directory: %v", left)
	}
	s = serve(t, binary)
	file = s.beat(t)
	s.cmd.Process.Kill() // the machines' namespaces end with it
	s.cmd.Wait()
	silent(t, file)
	if out, err := exec.Command(binary, "--types", "c7i.tiny").CombinedOutput(); err == nil || !strings.Contains(string(out), `no instance type "c7i.tiny"`) {
		t.Errorf("a wrong type: %v %s", err, out)
	}
}

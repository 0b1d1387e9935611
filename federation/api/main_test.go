package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/federation/api/identity/munge"
)

// TestMain lets this test program stand in for another user: with API_TEST_SOCKET set it sends one request as whoever
// runs it, and prints the status and the answer.
func TestMain(m *testing.M) {
	if socket := os.Getenv("API_TEST_MUNGE"); socket != "" {
		cred, err := munge.Encode(socket, os.Args[1], time.Minute)
		fmt.Println(cred, err)
		return
	}
	if socket := os.Getenv("API_TEST_SOCKET"); socket != "" && os.Args[1] == "hoard" {
		hoardConns(socket)
		return
	} else if socket != "" && os.Args[1] == "stall" {
		stallBodies(socket)
		return
	} else if socket != "" {
		if err := request(socket, os.Args[1], os.Args[2], strings.Join(os.Args[3:], " ")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func request(socket, method, path, body string) error {
	h := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", socket)
	}}}
	if size, ok := strings.CutPrefix(body, "large "); ok { // longer than an argument may be
		n, _ := strconv.Atoi(size)
		body = strings.Repeat(" ", n)
	}
	req, err := http.NewRequest(method, "http://fsub"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := h.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode)
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}

// hoardConns opens 1,200 connections, says how many the daemon has kept, and keeps those until its input ends.
func hoardConns(socket string) {
	var conns []net.Conn
	for range 1200 {
		c, err := net.Dial("unix", socket)
		if err != nil {
			break
		}
		conns = append(conns, c)
	}
	held := 0
	for _, c := range conns {
		fmt.Fprintf(c, "GET /slurm/v0.0.42/ping HTTP/1.1\r\nHost: x\r\n\r\n")
		if n, _ := c.Read(make([]byte, 1)); n == 1 {
			held++
		}
	}
	fmt.Println(held)
	io.Copy(io.Discard, os.Stdin)
}

// stallBodies sends the first byte of twenty large bodies, says how many, and keeps their connections until its input ends.
func stallBodies(socket string) {
	var conns []net.Conn
	for range 20 {
		c, err := net.Dial("unix", socket)
		if err != nil {
			break
		}
		conns = append(conns, c)
		fmt.Fprintf(c, "POST /fed/v1/job HTTP/1.1\r\nHost: x\r\nContent-Length: 33000000\r\n\r\n{") // for which the daemon waits 17 s
	}
	fmt.Println(len(conns))
	io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(conns)
}

// hoard has uid hold connections until release, which returns when they are closed: "hoard" as many as it gets, "stall" some with large bodies.
func hoard(t *testing.T, what string, uid uint32, socket string) (held int, release func()) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", what)
	cmd.Env = []string{"API_TEST_SOCKET=" + socket, "GORACE=atexit_sleep_ms=0"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(out, &held); err != nil {
		t.Fatal(err)
	}
	return held, func() { in.Close(); cmd.Wait() }
}

// as sends one request as the user with uid, through a child process, and decodes the answer into out.
func as(t *testing.T, uid uint32, socket, method, path string, in, out any) (status int) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: it sends requests as several users")
	}
	body := []byte{}
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			t.Fatal(err)
		}
	}
	text, err := tryAs(uid, socket, method, path, string(body))
	if err != nil {
		t.Fatalf("request as uid %d: %v", uid, err)
	}
	head, rest, _ := strings.Cut(text, "\n")
	if _, err := fmt.Sscan(head, &status); err != nil {
		t.Fatalf("answer %q: %v", text, err)
	}
	if out != nil && rest != "" {
		if err := json.Unmarshal([]byte(rest), out); err != nil {
			t.Fatalf("answer %q: %v", rest, err)
		}
	}
	return status
}

// tryAs is one request that the daemon may not take. The text is the status and what came after it.
func tryAs(uid uint32, socket, method, path, body string) (text string, err error) {
	cmd := exec.Command("/proc/self/exe", method, path, body)
	// A program with the race detector sleeps for a second before it ends, unless told not to.
	cmd.Env = []string{"API_TEST_SOCKET=" + socket, "GORACE=atexit_sleep_ms=0"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	cmd.Stderr = os.Stderr
	answer, err := cmd.Output()
	return string(answer), err
}

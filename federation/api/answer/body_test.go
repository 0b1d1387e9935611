package answer

import (
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestBodiesThatDoNotCome: a request that says that its body is long, and sends little of it, takes little memory.
func TestBodiesThatDoNotCome(t *testing.T) {
	before := resident(t)
	for range largeBodies {
		r := httptest.NewRequest("POST", "/", strings.NewReader("{"))
		r.ContentLength = maxBody
		b, err := ReadBody(r)
		if err != nil || b.String() != "{" {
			t.Fatalf("%q, %v", b, err)
		}
		defer PutBody(b)
	}
	if mib := (resident(t) - before) >> 20; mib > 64 {
		t.Errorf("they take %d MiB", mib)
	}
}

// resident is the memory that this process has, in bytes.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

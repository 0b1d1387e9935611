package codes

import (
	"os"
	"regexp"
	"testing"
)

func TestEveryCodeHasASentence(t *testing.T) {
	source, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^\t\w+ +Code = "(\w+)"`).FindAllSubmatch(source, -1) {
		if n++; sentences[Code(m[1])] == "" {
			t.Errorf("%s has none", m[1])
		}
	}
	if n != len(sentences) || n < 60 {
		t.Errorf("%d codes, %d sentences", n, len(sentences))
	}
}

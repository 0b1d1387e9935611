package bounded_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fsub/sbatch/bounded"
)

type four struct{}

func (four) Max() (int, string) { return 4, "numbers" }

type list = bounded.Slice[any, four]

func TestSlice(t *testing.T) {
	for text, want := range map[string]int{
		`null`: 0, `[]`: 0, ` [ ] `: 0, `[1]`: 1, `[[]]`: 1, `[{}]`: 1, `[{},{},{},{}]`: 4, `[[1,2,3,4,5],{"a":[1,2],"b":{}}]`: 2, `["a,\",b","\\",3]`: 3, `["",null]`: 2,
	} {
		v := struct{ L list }{}
		if err := json.Unmarshal([]byte(`{"L":`+text+`}`), &v); err != nil || len(v.L) != want || cap(v.L) > want {
			t.Errorf("%s: %v (cap %d), %v", text, v.L, cap(v.L), err)
		}
		var plain []any
		if err := json.Unmarshal([]byte(text), &plain); err != nil || len(plain) != want {
			t.Errorf("%s: %v, %v", text, plain, err)
		}
	}
	for _, text := range []string{`[1,2,3,4,5]`, "[" + strings.Join(slices.Repeat([]string{"{}"}, 1000), ",") + "]"} {
		v := struct{ L list }{}
		if err := json.Unmarshal([]byte(`{"L":`+text+`}`), &v); err == nil || !strings.Contains(err.Error(), "at most 4") || v.L != nil {
			t.Errorf("%.20s: %v, %d elements", text, err, len(v.L))
		}
	}
	var v list
	if err := json.Unmarshal([]byte(`{"a":1}`), &v); err == nil {
		t.Error("an object is read as a list")
	}
}

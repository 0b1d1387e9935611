package submission

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"fsub/federation/api/answer"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// checkMore bounds the rarer options as checkTexts and checkNumbers do the usual ones. It goes through the fields by itself: options
// are added there more often than anywhere else, and none is to be forgotten here.
func checkMore(m *sbatch.More) error {
	if m == nil {
		return nil
	}
	const most = 1 << 31
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		switch f.Kind() {
		case reflect.Int, reflect.Int64:
			if n := f.Int(); v.Type().Field(i).Type == reflect.TypeFor[int]() && (n < 0 || n > most) {
				return answer.Invalid(wire.ErrNodeCount, fmt.Sprintf("%s: a count of %d", name, n))
			}
		case reflect.String:
			text, lines := f.String(), name == "BurstBuffer" // that has lines of its own
			if len(text) > MaxText && !lines || len(text) > 64<<10 {
				return answer.Invalid(wire.ErrTooLong, fmt.Sprintf("%s has %d bytes", name, len(text)))
			}
			if strings.ContainsFunc(text, unicode.IsControl) && !lines {
				return answer.BadBody(fmt.Sprintf("%s contains a control character: %.40q", name, text))
			}
		}
	}
	return nil
}

package accounting_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"fsub/accounting"
)

// FuzzTRES reads lists of resources: amounts are not negative, and what is written is read as the same.
func FuzzTRES(f *testing.F) {
	for _, text := range []string{"cpu=4,mem=4000M,node=1,gres/gpu:h100=4", "mem=1.5T", "mem=1K", "cpu=NaN", "cpu=1e300", "=1", "a=b=c", "node=9007199254740992P"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tres, err := accounting.ParseTRES(text)
		if err != nil {
			if !strings.Contains(err.Error(), "TRES ") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		for name, n := range tres {
			if n < 0 {
				t.Errorf("%q: %d of %s", text, n, name)
			}
			if n > 1<<53 {
				return // more than is read again
			}
		}
		again, err := accounting.ParseTRES(tres.String())
		if err != nil || !reflect.DeepEqual(again, tres) {
			t.Errorf("%q: %v became %v, %v", text, tres, again, err)
		}
		if usd := accounting.PerHour(accounting.Prices{"cpu": 0.05, "mem": 0.01, "gres/gpu": 2}, tres); usd < 0 || math.IsNaN(usd) || math.IsInf(usd, 0) {
			t.Errorf("%q costs $%v an hour", text, usd)
		}
	})
}

// FuzzMoney reads amounts: what is written, as text and as JSON, is read as the same.
func FuzzMoney(f *testing.F) {
	for _, text := range []string{"12.75", "-0.5", "1e-3", "9223372036854.775807", "9223372036854.775808", "-9223372036854.775808", "0.0000005", ".", "-", "NaN", "0x1p-3", "1_000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := accounting.ParseMoney(text)
		if err != nil {
			if !strings.Contains(err.Error(), "invalid amount ") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if again, err := accounting.ParseMoney(m.String()); m != math.MinInt64 && (err != nil || again != m) {
			t.Errorf("%q: %v became %v, %v", text, m, again, err)
		}
		var again accounting.Money
		if raw, err := json.Marshal(m); err != nil || m != math.MinInt64 && (json.Unmarshal(raw, &again) != nil || again != m) {
			t.Errorf("%q: %v became %v as JSON: %v", text, m, again, err)
		}
	})
}

package accounting

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMoneyText(t *testing.T) {
	for text, want := range map[string]Money{
		"0": 0, "12": 12 * Dollar, "12.75": 12.75 * Dollar, "-0.5": -0.5 * Dollar, "0.000001": 1, ".5": 0.5 * Dollar, "1e-3": 1000,
		"0.0000005": 1, "0.0000004": 0, "-0.0000005": -1, "0.016666666666666666": 16667, "9007199254.740993": 9007199254740993, "1e3": 1000 * Dollar,
	} {
		if got, err := ParseMoney(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "-", ".", "x", "1,5", "1e300", "NaN", "Inf", "9223372036854.775808", "--1", "1.2.3"} {
		if got, err := ParseMoney(bad); err == nil {
			t.Errorf("%q passed as %d", bad, got)
		}
	}
	for _, c := range []struct {
		m        Money
		decimals int
		want     string
	}{
		{12.75 * Dollar, 2, "12.75"}, {12.75 * Dollar, 0, "13"}, {-12.75 * Dollar, 1, "-12.8"}, {5, 4, "0.0000"}, {50, 4, "0.0001"}, {-5, 2, "0.00"}, {math.MinInt64, 6, "-9223372036854.775808"},
	} {
		if got := c.m.Text(c.decimals); got != c.want {
			t.Errorf("%d with %d decimals is %s, want %s", c.m, c.decimals, got, c.want)
		}
	}
}

func TestMoneyOf(t *testing.T) {
	for dollars, want := range map[float64]Money{
		0.0000005: 1, -0.0000005: -1, 0.8048: 804800, 1e300: math.MaxInt64, math.Inf(-1): math.MinInt64, 0.1 + 0.2: 300000,
	} {
		if got := MoneyOf(dollars); got != want {
			t.Errorf("%v is %d, want %d", dollars, got, want)
		}
	}
	if got := MoneyOf(math.NaN()); got != 0 {
		t.Errorf("NaN is %d", got)
	}
}

func TestMoneyFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, d := Money(rapid.Int64Min(math.MinInt64+1).Draw(t, "an hour")), time.Duration(rapid.Int64().Draw(t, "for"))
		m, d = m>>rapid.IntRange(0, 60).Draw(t, "smaller"), d>>rapid.IntRange(0, 60).Draw(t, "shorter")
		want := new(big.Int)
		if d > 0 {
			want.Mul(big.NewInt(int64(max(m, -m))), big.NewInt(int64(d)))
			want.Add(want, big.NewInt(int64(time.Hour/2))).Quo(want, big.NewInt(int64(time.Hour)))
			if !want.IsInt64() {
				want.SetInt64(math.MaxInt64)
			}
			if m < 0 {
				want.Neg(want)
			}
		}
		if got := m.For(d); got != Money(want.Int64()) {
			t.Fatalf("got %d, want %s", got, want)
		}
	})
}

func TestMoneyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Money(rapid.Int64Min(math.MinInt64+1).Draw(t, "amount"))
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Money
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Fatalf("%s: %d, %v; want %d", text, got, err, want)
		}
	})
}

// What people read has two digits, a price by the hour those that count, and neither has an exponent.
func TestMoneyForPeople(t *testing.T) {
	for m, want := range map[Money][2]string{
		0: {"$0.00", "$0.00"}, 1: {"<$0.01", "$0.000001"}, 690: {"<$0.01", "$0.00069"}, 9_999: {"<$0.01", "$0.01"}, 10_000: {"$0.01", "$0.01"}, 17_500: {"$0.02", "$0.0175"},
		50_000: {"$0.05", "$0.05"}, 90_000: {"$0.09", "$0.09"}, 2_270_000: {"$2.27", "$2.27"}, 47_540_000: {"$47.54", "$47.54"}, 12 * Dollar: {"$12.00", "$12.00"}, -500_000: {"-$0.50", "$-0.50"},
	} {
		if got := m.USD(); got != want[0] {
			t.Errorf("%d costs %q, want %q", m, got, want[0])
		}
		if got := m.Rate(); got != want[1] && m >= 0 {
			t.Errorf("%d an hour is %q, want %q", m, got, want[1])
		}
	}
}

func TestMoneyInAColumn(t *testing.T) {
	for text, want := range map[string]string{"$12.75": "12.75", "<$0.01": "<0.01", "-$0.50": "-0.50", "$0.0175": "0.0175"} {
		if got := Bare(text); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

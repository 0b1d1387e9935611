package accounting

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Money is an amount in millionths of a US dollar: what is recorded, billed or budgeted. Sums of it are exact.
// What has more digits is rounded where it becomes Money, once, to the nearest millionth; halves go away from
// zero, as SQL's round does.
//
// As JSON and as text it is a decimal number of dollars: 12.75.
type Money int64

// Dollar is one dollar. It has no type, so that 0.25*Dollar is Money too.
const Dollar = 1_000_000

// MoneyOf is an amount of dollars as Money. What no Money can hold is the nearest that one can; NaN is 0.
func MoneyOf(dollars float64) Money {
	micro := math.Round(dollars * Dollar)
	switch {
	case math.IsNaN(micro):
		return 0
	case micro >= math.MaxInt64:
		return math.MaxInt64
	case micro <= math.MinInt64:
		return math.MinInt64
	}
	return Money(micro)
}

// Dollars is m as a number that need not be exact.
func (m Money) Dollars() float64 { return float64(m) / Dollar }

// For is what d costs at m an hour. It is 0 if d is not positive.
func (m Money) For(d time.Duration) Money {
	if d <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(m.abs(), uint64(d))
	lo, carry := bits.Add64(lo, uint64(time.Hour)/2, 0)
	if hi += carry; hi >= uint64(time.Hour) {
		return m.signed(math.MaxInt64)
	}
	q, _ := bits.Div64(hi, lo, uint64(time.Hour))
	return m.signed(min(q, math.MaxInt64))
}

func (m Money) abs() uint64 {
	if m < 0 {
		return -uint64(m)
	}
	return uint64(m)
}

// signed is n with the sign of m.
func (m Money) signed(n uint64) Money {
	if m < 0 {
		return -Money(n)
	}
	return Money(n)
}

// String is m in dollars with all its digits, and no more: "12.75".
func (m Money) String() string {
	text := m.Text(6)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Text is m in dollars with so many decimals, from 0 to 6: "12.75" with 2.
func (m Money) Text(decimals int) string {
	unit := uint64(1)
	for range 6 - decimals {
		unit *= 10
	}
	n, per := (m.abs()+unit/2)/unit, Dollar/unit
	sign := ""
	if m < 0 && n > 0 {
		sign = "-"
	}
	if decimals == 0 {
		return sign + strconv.FormatUint(n, 10)
	}
	return fmt.Sprintf("%s%d.%0*d", sign, n/per, decimals, n%per)
}

// USD is what something costs, as people read it: "$12.75", and "<$0.01" below a cent. A price by the hour is a [Money.Rate].
func (m Money) USD() string {
	switch n := m.abs(); {
	case n > 0 && n < Dollar/100 && m > 0:
		return "<$0.01"
	case m < 0:
		return "-$" + Money(n).Text(2)
	}
	return "$" + m.Text(2)
}

// Rate is a price by the unit in dollars: "$2.27", and below ten cents with three digits that count: "$0.0175". It never has an exponent.
func (m Money) Rate() string {
	n := m.abs()
	if n == 0 || n >= Dollar/10 {
		return "$" + m.Text(2)
	}
	decimals := 4
	for least := uint64(Dollar / 100); n < least && decimals < 6; least /= 10 {
		decimals++
	}
	text := strings.TrimRight(m.Text(decimals), "0")
	return "$" + text + strings.Repeat("0", max(0, len("0.00")-len(text)))
}

// Bare is an amount as [Money.USD] or [Money.Rate] write it without the sign of its currency, for columns whose heading has it: "12.75", "<0.01".
func Bare(text string) string { return strings.Replace(text, "$", "", 1) }

// ParseMoney reads a decimal number of dollars: "12", "-0.5", "1e-3". More than six decimals are rounded.
func ParseMoney(s string) (Money, error) {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	digits := whole + (fraction + "000000")[:max(6, len(fraction))]
	if strings.Trim(digits, "0123456789") != "" || whole+fraction == "" { // an exponent, or no number
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(math.Abs(f) < math.MaxInt64/Dollar) {
			return 0, fmt.Errorf("invalid amount %q: want dollars, as in 12.75", s)
		}
		return MoneyOf(f), nil
	}
	end := len(whole) + 6
	n, err := strconv.ParseUint(digits[:end], 10, 64)
	if end < len(digits) && digits[end] >= '5' {
		n++
	}
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("invalid amount %q: too large", s)
	}
	if strings.HasPrefix(s, "-") {
		return -Money(n), nil
	}
	return Money(n), nil
}

// MarshalJSON implements [json.Marshaler].
func (m Money) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Money) UnmarshalJSON(data []byte) error {
	var number json.Number
	err := json.Unmarshal(data, &number)
	if err == nil && number != "" {
		*m, err = ParseMoney(string(number))
	}
	return err
}

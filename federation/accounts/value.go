package accounts

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"fsub/accounting"
	"fsub/accounting/fairtree"
)

// value is what an option is set to.
type value struct {
	n      int64 // a count, minutes, or millionths of a dollar
	factor float64
	tres   accounting.TRES
	names  []string
	period BudgetPeriod
}

// values are the settings of a record, read once.
type values struct {
	of     map[string]value
	bounds []Bound
}

// valuesOf reads settings, which are in their canonical form. What cannot be read is not set.
func valuesOf(set Settings) *values {
	v := &values{of: make(map[string]value, len(set))}
	for i := range Options {
		o := &Options[i]
		text := set[o.Name]
		if text == "" {
			continue
		}
		x, ok := o.read(text)
		if !ok {
			continue
		}
		v.of[o.Name] = x
		if o.Limit != nil {
			v.bounds = append(v.bounds, o.bounds(&x)...)
		}
	}
	return v
}

// read reads a value in its canonical form.
func (o *Option) read(text string) (v value, ok bool) {
	var err error
	switch o.form {
	case count, span:
		v.n, err = strconv.ParseInt(text, 10, 64)
	case factor:
		v.factor, err = strconv.ParseFloat(text, 64)
	case tres:
		v.tres, err = accounting.ParseTRES(text)
	case names:
		v.names = slices.DeleteFunc(strings.Split(text, ","), func(name string) bool { return name == "" })
	case money, tresOver:
		amount, period, cut := cutPeriod(text)
		if v.period = period; !cut {
			return v, false
		}
		if o.form == tresOver {
			v.tres, err = accounting.ParseTRES(amount)
			break
		}
		var m accounting.Money
		m, err = accounting.ParseMoney(amount)
		v.n = int64(m)
	}
	return v, err == nil
}

// bounds are the amounts of a limit, by the names of their TRES.
func (o *Option) bounds(v *value) (list []Bound) {
	unit := int64(1)
	switch o.Limit.Measure {
	case Minutes, RunMinutes, PeriodMinutes:
		unit = 60
	}
	for _, name := range slices.Sorted(maps.Keys(v.tres)) {
		list = append(list, Bound{Option: o, TRES: name, Most: v.tres[name] * unit, Period: v.period})
	}
	switch o.form {
	case span:
		list = append(list, Bound{Option: o, TRES: Wall, Most: v.n * unit})
	case count, money:
		list = append(list, Bound{Option: o, Most: v.n, Period: v.period})
	}
	return list
}

// value is what an option of the record is set to; the zero value if it is not set.
func (r *Record) value(option string) (v value, ok bool) {
	read := r.read
	if read == nil {
		read = valuesOf(r.Set)
	}
	v, ok = read.of[option]
	return v, ok
}

// Bounds are the limits that a record of a tree sets, in the order of [Options].
func (r *Record) Bounds() []Bound { return r.read.bounds }

// Shares are a record's shares: 1 if none are set.
func (r *Record) Shares() uint32 {
	switch text := r.Set["Fairshare"]; text {
	case "":
		return 1
	case "parent":
		return fairtree.UseParent
	default:
		n, _ := strconv.ParseUint(text, 10, 32)
		return uint32(n)
	}
}

// Count is an option that is a number; ok is false if it is not set. One of time is in minutes.
func (r *Record) Count(option string) (n int64, ok bool) {
	v, ok := r.value(option)
	return v.n, ok
}

// TRES is an option that is a list of TRES, not to be changed; nil if it is not set.
func (r *Record) TRES(option string) accounting.TRES {
	v, _ := r.value(option)
	return v.tres
}

// Names are an option that is a list of names, not to be changed.
func (r *Record) Names(option string) []string {
	v, _ := r.value(option)
	return v.names
}

// Value is what an option is set to: an int64, a float64, [accounting.TRES], names as []string, or else a text. What is not set is nil, or no names.
func (r *Record) Value(o *Option) any {
	v, ok := r.value(o.Name)
	switch o.form {
	case names:
		return append([]string{}, v.names...)
	case count, span:
		if ok {
			return v.n
		}
	case factor:
		if ok {
			return v.factor
		}
	case tres:
		if ok {
			return v.tres
		}
	default:
		if text := r.Set[o.Name]; text != "" {
			return text
		}
	}
	return nil
}

// Flag reports whether a QOS has a flag.
func (r *Record) Flag(name string) bool {
	return slices.ContainsFunc(r.Names("Flags"), func(flag string) bool { return strings.EqualFold(flag, name) })
}

// UsageFactor is what usage of a QOS counts: 1 if it is not set.
func (r *Record) UsageFactor() float64 {
	if v, ok := r.value("UsageFactor"); ok {
		return v.factor
	}
	return 1
}

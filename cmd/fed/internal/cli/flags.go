package cli

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// flagsOf adds the flags of a struct: one for each field with the tag flag, which sets it.
//
//	flag:"limit,n" usage:"how many lines at most" default:"20"
//
// A list takes several words with commas between them; with split:"no" it takes one, and the flag may be repeated.
func flagsOf(flags *pflag.FlagSet, v reflect.Value) {
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		name, short := tag.Get("flag"), ""
		if name == "" {
			continue
		}
		if n := len(name); n > 2 && name[n-2] == ',' {
			name, short = name[:n-2], name[n-1:]
		}
		usage, usual := tag.Get("usage"), tag.Get("default")
		switch at := v.Field(i).Addr(); v.Field(i).Kind() {
		case reflect.String:
			flags.StringVarP(at.Convert(reflect.TypeFor[*string]()).Interface().(*string), name, short, usual, usage)
		case reflect.Bool:
			flags.BoolVarP(at.Interface().(*bool), name, short, false, usage)
		case reflect.Int:
			n, _ := strconv.Atoi(usual) // TestFlags has each
			flags.IntVarP(at.Interface().(*int), name, short, n, usage)
		case reflect.Slice:
			var all []string
			if usual != "" {
				all = strings.Split(usual, ",")
			}
			if into := at.Interface().(*[]string); tag.Get("split") == "no" {
				flags.StringArrayVarP(into, name, short, all, usage)
			} else {
				flags.StringSliceVarP(into, name, short, all, usage)
			}
		default:
			flags.VarP(at.Convert(reflect.TypeFor[*PastTime]()).Interface().(*PastTime), name, short, usage)
		}
	}
}

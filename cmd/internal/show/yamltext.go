package show

import (
	"fmt"
	"strings"
)

// yamlWidth is the column after which a line is broken at the next space.
const yamlWidth = 80

// yamlText writes a string as libyaml does for Slurm: as it is if that reads back as the same, else in
// single quotes, else in double ones. column is where it begins, indent that of the lines that follow.
func yamlText(s string, column, indent int) string {
	switch {
	case s == "":
		return ""
	case yamlEscapes(s):
		return `"` + yamlFold(s, column+1, indent, yamlEscaped) + `"`
	case yamlPlain(s):
		return yamlFold(s, column, indent, func(r rune) string { return string(r) })
	}
	return "'" + yamlFold(s, column+1, indent, func(r rune) string { return strings.ReplaceAll(string(r), "'", "''") }) + "'"
}

// yamlEscapes reports whether s can only be written in double quotes: it has other than printable ASCII
// and line ends, or a line end beside a space.
func yamlEscapes(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }) || strings.Contains(s, "\n ") || strings.Contains(s, " \n")
}

// yamlPlain reports whether s needs no quotes.
func yamlPlain(s string) bool {
	alone := len(s) == 1 || s[1] == ' '
	return strings.Trim(s, " ") == s && !strings.Contains(s, "\n") && !strings.HasPrefix(s, "---") && !strings.HasPrefix(s, "...") &&
		!strings.ContainsAny(s[:1], "#,[]{}&*!|>'\"%@`") && !(alone && strings.ContainsAny(s[:1], "-?:")) &&
		!strings.Contains(s, ": ") && !strings.HasSuffix(s, ":") && !strings.Contains(s, " #")
}

// yamlFold writes s rune by rune, and breaks long lines. A line end that is not escaped is written
// once more than it is there.
func yamlFold(s string, column, indent int, written func(rune) string) string {
	var b strings.Builder
	spaces, breaks := false, false
	for i, r := range s {
		text := written(r)
		if text == "\n" {
			if !breaks {
				b.WriteByte('\n')
			}
			b.WriteByte('\n')
			spaces, breaks = false, true
			continue
		}
		if breaks {
			b.WriteString(strings.Repeat(" ", indent))
			breaks, column = false, indent
		}
		if r == ' ' && !spaces && column > yamlWidth && i > 0 && i < len(s)-1 && s[i+1] != ' ' {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			spaces, column = true, indent
			continue
		}
		b.WriteString(text)
		spaces, column = r == ' ', column+len(text)
	}
	if breaks {
		b.WriteString(strings.Repeat(" ", indent))
	}
	return b.String()
}

// yamlEscaped is a rune within double quotes.
func yamlEscaped(r rune) string {
	const special, named = "\x00\a\b\t\n\v\f\r\x1b\"\\", `0abtnvfre"\`
	switch i := strings.IndexRune(special, r); {
	case i >= 0:
		return `\` + named[i:i+1]
	case r >= ' ' && r <= '~':
		return string(r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08X`, r)
	case r > 0xff:
		return fmt.Sprintf(`\u%04X`, r)
	}
	return fmt.Sprintf(`\x%02X`, r)
}

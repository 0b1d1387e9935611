// Package format writes reports in any of the forms that there are. It links what each of them needs. [Write] and [Letter] are all there is.
package format

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fsub/accounting/report"
	"fsub/accounting/report/page"
	"fsub/accounting/report/parquet"
)

// Of is the format of that name, or else that which a file's name ends with: "table" if it ends with none.
func Of(name, file string) (string, error) {
	if i := strings.LastIndexByte(file, '.'); name == "" && i >= 0 {
		name = file[i+1:]
	}
	switch name {
	case "htm":
		name = "html"
	case "", "txt":
		name = "table"
	}
	if !slices.Contains(report.Formats, name) {
		return "", fmt.Errorf("unknown format %q: want table, csv, json, parquet or html", name)
	}
	return name, nil
}

// Ending is what the names of files of a format end with.
func Ending(format string) string {
	if format == "table" {
		return "txt"
	}
	return format
}

// Letter is a report as the HTML of a mail, and the picture that it refers to by name; no picture: nil.
func Letter(t *report.Table) (html, name string, picture []byte, err error) {
	html, picture, err = page.Letter(t)
	return html, page.Chart, picture, err
}

// Write writes a report in a format.
func Write(w io.Writer, t *report.Table, format string) error {
	switch format {
	case "csv":
		return t.CSV(w)
	case "json":
		return t.JSON(w)
	case "parquet":
		return parquet.Write(w, t)
	case "html":
		return page.Write(w, t)
	}
	return t.Text(w)
}

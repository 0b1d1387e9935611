// Package html builds pages of HTML from values: [E] is an element, a string in it is text, whatever it holds. There is no way to write markup from a string, so that
// nothing that a user has named can become any. It stands in place of html/template, which finds methods by name: the linker would keep every method of the program for
// it, which doubles fed.
package html

import (
	"html"
	"strconv"
	"strings"

	"fsub/federation/plain"
)

// Node is a part of a page.
type Node interface{ write(b *strings.Builder) }

// Attr is an attribute of an element.
type Attr struct{ Name, Value string }

// A is an attribute. An address that could run something is left out.
func A(name, value string) Attr {
	if (name == "href" || name == "action" || name == "src") && !local(value) {
		value = "#"
	}
	return Attr{name, value}
}

// local reports whether an address is within this origin, or a part of the page.
func local(address string) bool {
	return strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//") && !strings.HasPrefix(address, `/\`) || strings.HasPrefix(address, "#") || strings.HasPrefix(address, "?")
}

// Class is the attribute class.
func Class(name string) Attr { return Attr{"class", name} }

// Element is an element with what is in it.
type Element struct {
	Tag      string
	Attrs    []Attr
	Children []Node
}

type text string

// mostText bounds the text of one place: names may have 64 KB.
const mostText = 2000

// E is an element. Its parts are attributes, nodes, lists of nodes, texts and numbers; nil is left out.
func E(tag string, parts ...any) *Element {
	e := &Element{Tag: tag}
	for _, p := range parts {
		e.add(p)
	}
	return e
}

func (e *Element) add(part any) {
	switch p := part.(type) {
	case nil:
	case Attr:
		e.Attrs = append(e.Attrs, p)
	case []Attr:
		e.Attrs = append(e.Attrs, p...)
	case *Element:
		if p != nil {
			e.Children = append(e.Children, p)
		}
	case Node:
		e.Children = append(e.Children, p)
	case []Node:
		for _, n := range p {
			e.add(n)
		}
	case string:
		e.Children = append(e.Children, text(p))
	case int:
		e.Children = append(e.Children, text(strconv.Itoa(p)))
	default:
		panic("html: a part that is none")
	}
}

// Attr is the value of an attribute; "" if there is none.
func (e *Element) Attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// Pre is text of several lines, whatever its length.
type Pre string

// void are the elements without an end.
var void = map[string]bool{"meta": true, "link": true, "input": true, "br": true, "hr": true}

func (e *Element) write(b *strings.Builder) {
	b.WriteString("<" + e.Tag)
	for _, a := range e.Attrs {
		b.WriteString(" " + a.Name + `="` + html.EscapeString(plain.Line(a.Value)) + `"`)
	}
	b.WriteString(">")
	if void[e.Tag] {
		return
	}
	for _, c := range e.Children {
		c.write(b)
	}
	b.WriteString("</" + e.Tag + ">")
}

func (t text) write(b *strings.Builder) { b.WriteString(html.EscapeString(Shown(string(t)))) }

func (p Pre) write(b *strings.Builder) {
	w := plain.Writer{To: escaping{b}}
	_, _ = w.Write([]byte(p))
}

// escaping escapes what is written to it.
type escaping struct{ b *strings.Builder }

func (w escaping) Write(p []byte) (int, error) {
	w.b.WriteString(html.EscapeString(string(p)))
	return len(p), nil
}

// Shown is a text as a page shows it: in one line, without what does not show, and not longer than anybody reads.
func Shown(s string) string {
	if len(s) > mostText {
		s = strings.ToValidUTF8(s[:mostText], "") + "..."
	}
	return plain.Line(s)
}

// Text is all text of a node.
func Text(n Node) string {
	switch n := n.(type) {
	case text:
		return Shown(string(n))
	case Pre:
		return string(n)
	case *Element:
		var b strings.Builder
		for _, c := range n.Children {
			b.WriteString(Text(c))
		}
		return b.String()
	}
	return ""
}

// Walk calls f for e and each element in it.
func Walk(e *Element, f func(*Element)) {
	f(e)
	for _, c := range e.Children {
		if e, ok := c.(*Element); ok {
			Walk(e, f)
		}
	}
}

// Page is a whole document.
func Page(root *Element) []byte {
	var b strings.Builder
	b.WriteString("<!doctype html>\n")
	root.write(&b)
	b.WriteString("\n")
	return []byte(b.String())
}

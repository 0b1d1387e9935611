// Package topology knows how the nodes of a site are wired, which of them are close, and which set of them fits a gang. It
// is pure: trees come from configuration or from the text of "scontrol show topology".
package topology

// Tree is a switch tree: every leaf switch with its nodes, and the switches above. The zero Tree knows no switches: then
// all nodes count as being under one.
type Tree struct {
	Switches []Switch
}

// Switch is one switch of a tree. A leaf has Nodes, any other has Children.
type Switch struct {
	Name     string
	Level    int // 0: leaf
	Nodes    []string
	Children []string
}

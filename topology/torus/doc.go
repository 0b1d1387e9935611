// Package torus knows the shapes in which TPU chips are wired: which slices exist, where their rings close, how far apart their chips
// are, and how much passes through the middle of one. A Generation is the rules of one kind of TPU, a Shape is the size of one slice.
// Pure: it talks to no cloud and knows no prices.
package torus

// Package google is what the providers of Google's clouds have alike (gcp, tpu): who the daemon is, how what is ours is named and labelled, and what a first day's check can
// ask without the SDK of one of them.
package google

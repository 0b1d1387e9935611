// Package interactive holds the tests of what users do at a terminal: shells and commands inside jobs that run on this machine's pool.
package interactive

// Package prices knows what machines of the clouds cost. A [Catalogue] has a table of its own, with the source and date of each row, and what the clouds' price
// lists have said since: each [Source] is one of these, asked once in a while, and kept in a file with its age. A price that cannot be true ([Check]) is refused
// with a warning, and the last good one stays. [Terms] are what a contract changes: discounts, what is paid for anyhow, disks, egress.
//
// Prices are in US dollars per hour of one machine with Linux; of a TPU per hour of one chip. A price that nobody knows is said to be unknown, and is never 0.
package prices

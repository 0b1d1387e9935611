// Package cloud will hold the pools that are rented: offers with prices, and the driver that grows and shrinks a pool, with
// one Provider for each cloud in a package below this one. There is nothing here yet.
package cloud

// Package storm is a stock-out storm in virtual time: the real controller, store and drivers over three simulated clouds whose zones run dry one after the other, for an
// hour, and come back. Jobs have to climb from the cheapest machine to one that exists.
package storm

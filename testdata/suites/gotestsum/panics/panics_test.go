// Package panics stops in the middle of a run.
package panics

import "testing"

// TestPassesFirst has run before the panic.
func TestPassesFirst(t *testing.T) {}

// TestPanics takes the whole test binary down.
func TestPanics(t *testing.T) {
	panic("no such order: <42>")
}

// TestNeverReached never runs: the binary is gone by then.
func TestNeverReached(t *testing.T) {}

// Package broken does not compile, so that `go test` cannot run it.
package broken

import "testing"

// TestNeverBuilt never runs: see the type error.
func TestNeverBuilt(t *testing.T) {
	var number int = "not a number"
	_ = number
}

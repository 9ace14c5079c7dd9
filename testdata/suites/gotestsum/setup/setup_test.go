// Package setup has a set-up which fails before any test.
package setup

import (
	"fmt"
	"os"
	"testing"
)

// TestMain stands for a set-up that breaks.
func TestMain(m *testing.M) {
	fmt.Println("set-up broke: cannot reach <db> & co")
	os.Exit(3)
}

// TestNeverRuns never runs: see TestMain.
func TestNeverRuns(t *testing.T) {}

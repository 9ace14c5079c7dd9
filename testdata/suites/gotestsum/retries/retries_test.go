// Package retries is what --rerun-fails is for.
package retries

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// firstTime is true the first time that it is asked about name in this run.
func firstTime(t *testing.T, name string) bool {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(os.Getenv("FLAKEWISE_MARKERS"), name), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	return file.Close() == nil
}

// TestPassesOnRetry fails on the first attempt and passes on the second.
func TestPassesOnRetry(t *testing.T) {
	if firstTime(t, "TestPassesOnRetry") {
		t.Error("failed on the first attempt")
	}
}

// TestSubtestPassesOnRetry has one subtest of two that fails on the first
// attempt only.
func TestSubtestPassesOnRetry(t *testing.T) {
	t.Run("steady", func(t *testing.T) {})
	t.Run("shaky one", func(t *testing.T) {
		if firstTime(t, "TestSubtestPassesOnRetry") {
			t.Error("failed on the first attempt")
		}
	})
}

// TestFailsOnEveryAttempt is beyond the help of retries.
func TestFailsOnEveryAttempt(t *testing.T) {
	fmt.Println("one more attempt")
	t.Error("fails on every attempt")
}

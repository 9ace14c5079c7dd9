// Package orders has one test for each thing that `go test` can report.
package orders

import (
	"fmt"
	"os"
	"testing"
)

// TestPasses is the plain green case, with no output.
func TestPasses(t *testing.T) {
	if 2+2 != 4 {
		t.Fatal("arithmetic is broken")
	}
}

// TestFailsWithAwkwardMessage writes everything an XML writer must escape,
// over more than one line.
func TestFailsWithAwkwardMessage(t *testing.T) {
	fmt.Println("to stdout: \x1b[31mred\x1b[0m <tag> & \"quotes\" café 日本語")
	fmt.Println("a control char: [\x01] and ]]> the end of a CDATA section")
	fmt.Println("not UTF-8: [\xff]")
	fmt.Fprintln(os.Stderr, "to stderr: \x1b[1;33mwarning\x1b[0m")
	t.Errorf("expected <total> & \"tax\" to be 'équal': 3 ≠ 4\n" +
		"second line: \x1b[32mnaïve\x1b[0m café 日本語 🦀\n" +
		"\tthird line with a control char [\x01]")
	t.Error("a second error of the same test")
}

// TestSkipped gives up with a reason.
func TestSkipped(t *testing.T) {
	t.Skip("not on <this> platform & \"never\" — é")
}

// TestParametrised runs subtests; one case of several fails, and the texts
// are awkward for anyone who splits names at '/', '::' or '['.
func TestParametrised(t *testing.T) {
	for _, text := range []string{"plain", "two words", "a::b[0]", "x/y/z", "ünï→日本", "<&>\"'", "", "tab\tnew\nline"} {
		t.Run(text, func(t *testing.T) {
			if text == "a::b[0]" {
				t.Errorf("bad text: %q", text)
			}
		})
	}
}

// TestNested has subtests of subtests; only an inner one fails.
func TestNested(t *testing.T) {
	t.Run("outer", func(t *testing.T) {
		t.Run("passes", func(t *testing.T) {})
		t.Run("fails", func(t *testing.T) {
			t.Fatal("fails two levels down")
		})
		t.Run("skips", func(t *testing.T) {
			t.Skip("skips two levels down")
		})
	})
}

// TestSameNames runs two subtests of one name, to which Go adds a number.
func TestSameNames(t *testing.T) {
	for number := 1; number <= 2; number++ {
		t.Run("same", func(t *testing.T) {
			if number == 2 {
				t.Error("the second one fails")
			}
		})
	}
}

// TestCleanupFails passes, but what it registered for the end fails.
func TestCleanupFails(t *testing.T) {
	t.Cleanup(func() { t.Error("tear-down broke") })
}

// TestOutput is green and writes to both streams and to the test's log.
func TestOutput(t *testing.T) {
	fmt.Println("hello from stdout")
	fmt.Fprintln(os.Stderr, "hello from stderr")
	t.Log("hello from the log")
}

// TestFlakyByRound fails in round 1 only, so that two runs of one commit
// differ.
func TestFlakyByRound(t *testing.T) {
	if os.Getenv("FLAKEWISE_ROUND") == "1" {
		t.Error("failed in round 1")
	}
}

// Example_passes is an example whose output is as expected.
func Example_passes() {
	fmt.Println("four")
	// Output: four
}

// Example_fails prints something else than it promises.
func Example_fails() {
	fmt.Println("five")
	// Output: four
}

// FuzzSeeds runs its seeds as subtests.
func FuzzSeeds(f *testing.F) {
	f.Add("seed")
	f.Fuzz(func(t *testing.T, text string) {})
}

package com.acme.orders;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One test for each thing that a Surefire report can express. */
class OrdersTest {
    @Test
    void passes() {
        // Nothing to see: the plain green case, with no output.
        assertEquals(4, 2 + 2);
    }

    @Test
    void failsWithAwkwardMessage() {
        // Everything an XML writer must escape, over more than one line.
        System.out.println("to stdout: \u001b[31mred\u001b[0m <tag> & \"quotes\" café 日本語");
        System.out.println("a control char: [\u0001] and ]]> the end of a CDATA section");
        System.err.println("to stderr: \u001b[1;33mwarning\u001b[0m");
        fail("expected <total> & \"tax\" to be 'équal': 3 ≠ 4\n"
                + "second line: \u001b[32mnaïve\u001b[0m café 日本語 🦀\n"
                + "\tthird line with a control char [\u0001]");
    }

    @Test
    void failsToCompare() {
        // What assertEquals itself says.
        assertEquals("one & two", "one < two");
    }

    @Test
    void throwsAnException() {
        // An exception other than an AssertionError: Surefire calls it an error.
        throw new IllegalStateException("no such order: <42>", new RuntimeException("the cause"));
    }

    @Test
    void throwsWithoutMessage() {
        // No message at all.
        throw new UnsupportedOperationException();
    }

    @Test
    @Disabled("not on <this> platform & \"never\" — é")
    void skipped() {
        // Disabled with a reason.
        fail("must not run");
    }

    @Test
    void skippedByAssumption() {
        // Given up at run time.
        Assumptions.assumeTrue(false, "decided at run time");
    }

    @Test
    @DisplayName("shows a name — with (spaces), <tags> & [brackets]")
    void hasDisplayName() {
        // Has a display name, which Surefire uses only when told to.
        assertTrue(true);
    }

    @ParameterizedTest
    @ValueSource(strings = {"plain", "two words", "a::b[0]", "ünï→日本", "<&>\"'", ""})
    void parameterised(String text) {
        // One case of several fails; the texts are awkward for anyone who
        // splits names at '::', '[' or '('.
        assertNotEquals("a::b[0]", text);
    }

    @ParameterizedTest(name = "{0} plus {1} is {2}")
    @CsvSource({"1, 2, 3", "2, 2, 5"})
    void namedParameters(int left, int right, int sum) {
        // Cases with names of their own; the second one fails.
        assertEquals(sum, left + right);
    }

    @RepeatedTest(2)
    void repeated() {
        // The same method twice.
        assertTrue(true);
    }

    @TestFactory
    Stream<DynamicTest> dynamic() {
        // Tests made at run time; the second one fails.
        return Stream.of("first one", "second :: [2]")
                .map(name -> DynamicTest.dynamicTest(name, () -> assertEquals("first one", name)));
    }

    @Test
    void writesOutput() {
        // A green test which writes to both streams.
        System.out.println("hello from stdout");
        System.err.println("hello from stderr");
    }

    @Test
    void flakyByRound() {
        // Fails in round 1 only, so that two runs of one commit differ.
        assertNotEquals("1", System.getenv("FLAKEWISE_ROUND"), "failed in round 1");
    }

    @Nested
    class WhenEmpty {
        @Test
        void passesInNestedClass() {
            // A method of a class within a class.
        }

        @Nested
        class AndClosed {
            @Test
            void failsInNestedClass() {
                // Two levels down, failing.
                assertEquals(1, 2);
            }
        }
    }
}

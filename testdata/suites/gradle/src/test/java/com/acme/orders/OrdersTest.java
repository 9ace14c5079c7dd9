package com.acme.orders;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.fail;

import org.junit.Assume;
import org.junit.Ignore;
import org.junit.Test;

/** One test for each thing that Gradle's JUnit report can express. */
public class OrdersTest {
    @Test
    public void passes() {
        // Nothing to see: the plain green case, with no output.
        assertEquals(4, 2 + 2);
    }

    @Test
    public void failsWithAwkwardMessage() {
        // Everything an XML writer must escape, over more than one line.
        System.out.println("to stdout: \u001b[31mred\u001b[0m <tag> & \"quotes\" café 日本語");
        System.out.println("a control char: [\u0001] and ]]> the end of a CDATA section");
        System.err.println("to stderr: \u001b[1;33mwarning\u001b[0m");
        fail("expected <total> & \"tax\" to be 'équal': 3 ≠ 4\n"
                + "second line: \u001b[32mnaïve\u001b[0m café 日本語 🦀\n"
                + "\tthird line with a control char [\u0001]");
    }

    @Test
    public void failsToCompare() {
        // What assertEquals itself says.
        assertEquals("one & two", "one < two");
    }

    @Test
    public void throwsAnException() {
        // An exception other than an AssertionError.
        throw new IllegalStateException("no such order: <42>");
    }

    @Test
    @Ignore("not on <this> platform & \"never\" — é")
    public void skipped() {
        // Ignored with a reason.
        fail("must not run");
    }

    @Test
    public void skippedByAssumption() {
        // Given up at run time.
        Assume.assumeTrue("decided at run time", false);
    }

    @Test
    public void writesOutput() {
        // A green test which writes to both streams.
        System.out.println("hello from stdout");
        System.err.println("hello from stderr");
    }

    @Test
    public void flakyByRound() {
        // Fails in round 1 only, so that two runs of one commit differ.
        assertNotEquals("failed in round 1", "1", System.getenv("FLAKEWISE_ROUND"));
    }
}

package com.acme.orders;

import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.File;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What rerunFailingTestsCount is for. */
class RetriesTest {
    /** True the first time that it is asked about {@code name} in this run. */
    private static boolean firstTime(String name) throws IOException {
        return new File(System.getenv("FLAKEWISE_MARKERS"), name).createNewFile();
    }

    @Test
    void passesOnRetry() throws IOException {
        // Fails on the first attempt and passes on the second.
        boolean first = firstTime("passesOnRetry");
        System.out.println("first attempt: " + first);
        assertTrue(!first, "failed on the first attempt");
    }

    @Test
    void errorThenPassesOnRetry() throws IOException {
        // The same with an exception: an error on the first attempt.
        if (firstTime("errorThenPassesOnRetry")) {
            throw new IllegalStateException("broke on the first attempt");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"steady", "shaky [1]"})
    void parameterisedPassesOnRetry(String text) throws IOException {
        // One case of two fails on the first attempt only.
        if (text.startsWith("shaky")) {
            assertTrue(!firstTime("parameterised"), "failed on the first attempt");
        }
    }

    @Test
    void failsOnEveryAttempt() {
        // No number of retries helps.
        System.out.println("one more attempt");
        System.err.println("one more complaint");
        fail("fails on every attempt");
    }

    @Test
    void failsDifferentlyEachTime() throws IOException {
        // First a failure, and from then on an error.
        assertNotEquals(true, firstTime("failsDifferentlyEachTime"), "first a failure");
        throw new IllegalStateException("then an error");
    }
}

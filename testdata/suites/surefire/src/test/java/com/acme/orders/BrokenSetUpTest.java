package com.acme.orders;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Its set-up throws, so that no method of it runs. */
class BrokenSetUpTest {
    @BeforeAll
    static void setUp() {
        throw new IllegalStateException("set-up broke: cannot reach <db> & co");
    }

    @Test
    void neverRuns() {
        // Never runs: see the set-up.
    }

    @Test
    void neverRunsEither() {
        // Never runs: see the set-up.
    }
}
